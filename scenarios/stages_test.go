package scenarios_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minikcm.dev/minikcm/scenarios"
)

const failsAfterAMinute = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-fails}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchLabels: {app: bad}, matchExpressions: [{key: .status.phase, operator: In, values: [Running]}]}
  delay: {durationMilliseconds: 60000}
  next: {statusTemplate: "phase: Failed\nreason: Broken\n"}
`

const usesOneCPU = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterResourceUsage
metadata: {name: busy}
spec: {usages: [{usage: {cpu: {value: "1"}}}]}
`

const stagesScenario = `apiVersion: minikcm.dev/v1alpha1
kind: Scenario
metadata: {name: stages}
spec:
  cluster: {nodes: 1, stages: [kwok, usage.yaml]}
  steps:
  - apply:
      objects:
      - {apiVersion: v1, kind: Pod, metadata: {name: bad, namespace: default, labels: {app: bad}}, spec: {containers: [{name: c, image: i}]}}
      - {apiVersion: v1, kind: Pod, metadata: {name: good, namespace: default}, spec: {containers: [{name: c, image: i}]}}
  - wait: {target: pod/good, for: condition=Ready}
  - sleep: 55s
  - kubectl: {args: [top, pod, good], output: [1000m]}
  - wait: {target: pod/bad, for: "jsonpath={.status.reason}=Broken", within: 10s}
  - name: another life
    apply:
      objects:
      - apiVersion: kwok.x-k8s.io/v1alpha1
        kind: Stage
        metadata: {name: all-fail}
        spec:
          resourceRef: {apiGroup: v1, kind: Pod}
          selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Running]}]}
          next: {statusTemplate: "phase: Failed"}
  - wait: {target: pod/good, for: "jsonpath={.status.phase}=Failed"}
`

// TestStages runs a scenario with files of kwok's kinds, and a step that applies another Stage.
func TestStages(t *testing.T) {
	t.Parallel()
	found, err := scenarios.Load(writeStages(t, usesOneCPU), nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := scenarios.Run(t.Context(), found[0], scenarios.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Failure != nil {
		t.Error(result.Failure)
	}
}

// TestStagesWithMistakes checks that a mistake in a file of stages is one of the scenario, and that a scenario
// that comes from elsewhere reads no files.
func TestStagesWithMistakes(t *testing.T) {
	t.Parallel()
	_, err := scenarios.Load(writeStages(t, strings.Replace(usesOneCPU, `"1"`, "much", 1)), nil)
	if want := `usage.yaml: document 1: ClusterResourceUsage busy: spec.usages[0].usage.cpu.value: "much" is not a quantity`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q in it", err, want)
	}
	_, err = scenarios.Load(writeStages(t, ""), nil)
	if want := "spec.cluster.stages[1]: there is no "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q in it", err, want)
	}
	_, err = scenarios.ParseAlone([]byte(stagesScenario), nil)
	if want := "files of the cluster's machine cannot be read here"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q in it", err, want)
	}
}

// writeStages writes a scenario and its files of kwok's kinds. Without a usage, that file is missing.
func writeStages(t *testing.T, usage string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"scenario.yaml": stagesScenario, "kwok/fails.yaml": failsAfterAMinute, "kwok/notes.txt": "not read"}
	if usage != "" {
		files["usage.yaml"] = usage
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "scenario.yaml")
}
