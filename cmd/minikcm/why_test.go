package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/golden"
)

const (
	savedRun = "../../internal/scenario/report/testdata/failed.json"
	// pendingRun is a run with pods that could not be scheduled.
	pendingRun = "../../internal/scenario/report/testdata/pending.json"
)

var (
	whyTime     = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}`)
	whyRevision = regexp.MustCompile(`\[\d+\]|revision \d+`)
	whyDelay    = regexp.MustCompile(`, [\d.µms]+ before`)
	whyHost     = regexp.MustCompile(`https://127\.0\.0\.1:\d+`)
)

// announced is the line that says which cluster a command uses.
var announced = regexp.MustCompile(`(?m)^Cluster: .*\n`)

// "why" on a running cluster shows why a pod is pending and which client created it, and
// suggests names for unknown kinds and objects.
func TestWhyOfCluster(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	up, _ := launchUp(t, home, "--nodes", "2")
	defer up.stop()
	run := func(args ...string) string {
		p := launch(t, home, "run", args...)
		_, out := p.end()
		return out + p.stderr.String()
	}
	run("kubectl", "run", "big", "--image=nginx", `--overrides={"spec":{"containers":[{"name":"big","image":"nginx","resources":{"requests":{"cpu":"1000"}}}]}}`)
	if out := run("kubectl", "wait", "pod/big", "--for=condition=PodScheduled=False", "--timeout=30s"); out != "pod/big condition met\n" {
		t.Fatalf("the pod does not wait for a node: %s", out)
	}
	var out strings.Builder
	for _, args := range [][]string{{"pod/big"}, {"pods/bg"}, {"pod/big", "-n", "kube-system"}, {"pdo/big"}, {"gardener/big"}, {"service/kubernetes"}} {
		fmt.Fprintf(&out, "$ minikcm why %s\n%s\n", strings.Join(args, " "), run(append([]string{"why"}, args...)...))
	}
	text := whyTime.ReplaceAllString(out.String(), "TIME")
	text = whyRevision.ReplaceAllStringFunc(text, func(found string) string { return regexp.MustCompile(`\d+`).ReplaceAllString(found, "N") })
	text = whyHost.ReplaceAllString(whyDelay.ReplaceAllString(text, ""), "HOST")
	text = announced.ReplaceAllString(text, "")
	golden.Compare(t, "testdata/why-cluster.golden", text)
	if json := run("why", "pod/big", "-o", "json"); !strings.Contains(json, `"state": "not ready"`) || !strings.Contains(json, `"reason": "Unschedulable"`) {
		t.Errorf("in JSON it says\n%s", json)
	}
}

// "why" works on a saved run, and its errors say what is wrong with the question.
func TestWhyOfRun(t *testing.T) {
	var out strings.Builder
	for _, args := range [][]string{
		{"deploy/web"},
		{"PodDisruptionBudget/web"},
		{"pods/web-69899ccd4-wlwzg"},
		{"pod/nobody"},
		{"pod/web", "-n", "nowhere"},
		{"gardener/web"},
		{"web"},
		{"pod/"},
		{"pod/a/b"},
		{"pod/web", "-o", "yaml"},
		{},
	} {
		code, stdout, stderr := call(append([]string{"why", "--run", savedRun}, args...)...)
		if (code == 0) != (stderr == "") || code > 2 {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
		fmt.Fprintf(&out, "$ minikcm why %s\n%s%s\n", strings.Join(args, " "), stdout, stderr)
	}
	for _, args := range [][]string{{"deploy/web"}, {"po/crash", "-n", "shop"}, {"pod/web"}, {"pod/crash"}, {"deploy/wbe"}, {"deploymens/web"}} {
		_, stdout, stderr := call(append([]string{"why", "--run", pendingRun}, args...)...)
		fmt.Fprintf(&out, "$ minikcm why %s # of pods that wait\n%s%s\n", strings.Join(args, " "), stdout, stderr)
	}
	golden.Compare(t, "testdata/why.golden", out.String())
	if code, _, stderr := call("why", "pod/a", "--run", "testdata"); code != 2 || !strings.Contains(stderr, "has no run in it") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if code, stdout, _ := call("why", "deploy/web", "--run", savedRun, "-o", "json"); code != 0 || !strings.Contains(stdout, `"because": [`) {
		t.Errorf("exit code %d, %s", code, stdout)
	}
}
