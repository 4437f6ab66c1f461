package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The step "kubectl" uses the built-in kubectl if no other is installed.
func TestScenarioKubectl(t *testing.T) {
	home := t.TempDir()
	t.Setenv("PATH", home)
	file := filepath.Join(home, "a.yaml")
	text := `
apiVersion: minikcm.dev/v1alpha1
kind: Scenario
metadata: {name: by-kubectl}
spec:
  cluster: {nodes: 2}
  steps:
    - kubectl: {args: [get, nodes, -o, name], output: [node/node-0, node/node-1]}
    - kubectl:
        args: [apply, -f, "-"]
        stdin: |
          apiVersion: v1
          kind: ConfigMap
          metadata: {name: a, namespace: default}
          data: {color: blue}
    - expect: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {color: blue}}]}
    - kubectl: {args: [get, configmap, b], output: ['"b" not found'], fails: true}
    - kubectl: {args: [get, configmap, a, -o, "jsonpath={.data.color}"], output: [green]}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, home, "run", "scenario", "run", file)
	code, out := p.end()
	if code != 1 || strings.Count(out, "✓") != 4 || !strings.Contains(out, "its output has no \"green\":\n      blue") {
		t.Errorf("it ends with %d:\n%s%s", code, out, p.stderr.String())
	}
}
