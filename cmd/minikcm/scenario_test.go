package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/scenarios"
)

func TestScenarioList(t *testing.T) {
	code, out, errOut := call("scenario", "list")
	if code != 0 || errOut != "" {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	golden.Compare(t, "testdata/scenario-list.golden", out)
}

// varying matches machine times and generated names.
var varying = regexp.MustCompile(`\([0-9.]+m?s\)| in [0-9.]+m?s|-[0-9a-f]+-[0-9a-z]{5}\b`)

func TestScenarioRun(t *testing.T) {
	code, out, errOut := call("scenario", "run", "pod-kill")
	if code != 0 || errOut != "" {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	golden.Compare(t, "testdata/pod-kill.golden", varying.ReplaceAllString(out, "…"))
}

// A failed scenario does not prevent the others from running.
func TestScenarioFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "two.yaml")
	text := `
apiVersion: minikcm.dev/v1alpha1
kind: Scenario
metadata: {name: red}
spec:
  description: There are more nodes than there are
  steps: [{expect: {within: 5s, counts: [{target: nodes, equals: 4}]}}]
---
apiVersion: minikcm.dev/v1alpha1
kind: Scenario
metadata: {name: green}
spec:
  description: There are as many nodes as there are
  steps: [{expect: {counts: [{target: nodes, equals: 3}]}}]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := call("scenario", "run", file, "--seed", "5")
	if code != 1 || errOut != "" {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	golden.Compare(t, "testdata/two.golden", varying.ReplaceAllString(strings.ReplaceAll(out, file, "two.yaml"), "…"))
}

// --keep-going runs all seeds and prints the failure rate, with a command for each failure.
func TestScenarioKeepsGoing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dice.yaml")
	text := `
apiVersion: minikcm.dev/v1alpha1
kind: Scenario
metadata: {name: dice}
spec:
  cluster: {nodes: 0}
  vars: {NODES: "0"}
  steps:
    - choose:
        of:
          - {weight: 3, steps: [{expect: {counts: [{target: nodes, equals: 0}]}}]}
          - {weight: 1, steps: [{expect: {counts: [{target: nodes, equals: "${NODES}"}]}}]}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	junit := filepath.Join(t.TempDir(), "junit.xml")
	code, out, errOut := call("scenario", "run", file, "--repeat", "12", "--keep-going", "--set", "NODES=1", "--junit", junit)
	if code != 1 || errOut != "" {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	golden.Compare(t, "testdata/keep-going.golden", varying.ReplaceAllString(strings.NewReplacer(file, "dice.yaml", junit, "junit.xml").Replace(out), "…"))
	data, err := os.ReadFile(junit)
	if failed := strings.Count(out, "\n  seed "); err != nil || failed == 0 || strings.Count(string(data), "<failure") != failed {
		t.Errorf("%d failures are printed, %d in the JUnit file: %v", failed, strings.Count(string(data), "<failure"), err)
	}
	if code, out, _ = call("scenario", "run", file, "--repeat", "3", "--keep-going"); code != 0 || !strings.HasPrefix(out, "3 runs passed in ") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// show returns the progress output of two runs.
func show(color bool) string {
	var out strings.Builder
	p := &progress{out: &out, color: color}
	s := &scenarios.Scenario{Metadata: scenarios.Metadata{Name: "storm"}, Spec: scenarios.Spec{Description: "It rains"}, File: "library/storm.yaml"}
	for _, failure := range []error{nil, errors.New("not within 1m0s: pod/a differs:\n  status.phase: expected 1, found 2")} {
		p.Begin(s)
		p.StepBegins("clouds gather")
		p.StepEnded(scenarios.StepResult{Title: "clouds gather", Notes: []string{"cloud/a", "cloud/b"}, Cluster: 1234567 * time.Microsecond, Real: 1500 * time.Microsecond})
		p.StepBegins("it rains")
		p.BackgroundNote("thunder", "node/a crashed")
		p.StepEnded(scenarios.StepResult{Title: "it rains", Cluster: time.Hour + 400*time.Millisecond, Real: 2*time.Second + 345*time.Millisecond, Failure: failure})
		p.End(&scenarios.Result{Scenario: s, Seed: 7, Cluster: time.Hour, Real: 2 * time.Second, Failure: failure})
		s.File = "./storm.yaml"
	}
	return out.String()
}

func TestProgress(t *testing.T) {
	golden.Compare(t, "testdata/progress.golden", show(false))
	golden.Compare(t, "testdata/progress-color.golden", strings.ReplaceAll(show(true), "\x1b", "ESC"))
}

// The command that repeats a run is quoted for a shell and contains the values that override
// the scenario's.
func TestAgain(t *testing.T) {
	s := &scenarios.Scenario{File: "my storm.yaml"}
	s.Spec.Cluster.Clock = "virtual"
	set := map[string]string{"IMAGE": "nginx", "TEXT": "it's new"}
	for name, test := range map[string]struct {
		run              runrecord.Scenario
		kubeconfig, want string
	}{
		"all":        {runrecord.Scenario{Clock: "real", Set: set}, "", ` --clock real --set IMAGE=nginx --set TEXT='it'\''s new'`},
		"nothing":    {runrecord.Scenario{Clock: "virtual"}, "", ""},
		"kubeconfig": {runrecord.Scenario{Clock: "real"}, "/tmp/my config", ` --kubeconfig '/tmp/my config'`},
	} {
		result := &scenarios.Result{Scenario: s, Seed: 7, Run: &runrecord.Run{Scenario: test.run}}
		if got, want := rerunCommand(result, test.kubeconfig), "minikcm scenario run 'my storm.yaml' --seed 7"+test.want; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for text, want := range map[string]string{"": "", "twelve chars": "twelve chars", "dreizehn Ähre": "dreizehn Äh…", "⚡ latency of everything": "⚡ latency o…"} {
		if got := cut(text, 12); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := cut("there is no room", 3); got != "" {
		t.Errorf("without room: %q", got)
	}
}

// Progress prints only the first notes of a step with many notes.
func TestManyNotes(t *testing.T) {
	var out strings.Builder
	p := &progress{out: &out}
	p.StepEnded(scenarios.StepResult{Title: "kill", Notes: slices.Repeat([]string{"pod/a killed"}, maxNotes+7)})
	if text := out.String(); strings.Count(text, "killed") != maxNotes || !strings.Contains(text, "… 7 more lines") {
		t.Error(text)
	}
}

func TestWantsColor(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	if !wantsColor(false, true) {
		t.Error("no colour on a terminal")
	}
	if wantsColor(true, true) || wantsColor(false, false) {
		t.Error("colour in spite of --no-color, or in a file")
	}
	t.Setenv("NO_COLOR", "1")
	if wantsColor(false, true) {
		t.Error("colour in spite of NO_COLOR")
	}
}
