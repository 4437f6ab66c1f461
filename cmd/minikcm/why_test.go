package main

import (
	"fmt"
	"strings"
	"testing"

	"minikcm.dev/minikcm/test/golden"
)

const (
	savedRun = "../../scenarios/report/testdata/failed.json"
	// pendingRun has pods that could not be scheduled.
	pendingRun = "../../scenarios/report/testdata/pending.json"
)

// A saved run answers why, and says what is wrong with a question.
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
		if (code == 0) != (stderr == "") || code > 1 {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
		fmt.Fprintf(&out, "$ minikcm why %s\n%s%s\n", strings.Join(args, " "), stdout, stderr)
	}
	for _, args := range [][]string{{"deploy/web"}, {"po/crash", "-n", "shop"}, {"pod/web"}, {"pod/crash"}, {"deploy/wbe"}, {"deploymens/web"}} {
		_, stdout, stderr := call(append([]string{"why", "--run", pendingRun}, args...)...)
		fmt.Fprintf(&out, "$ minikcm why %s # of pods that wait\n%s%s\n", strings.Join(args, " "), stdout, stderr)
	}
	golden.Compare(t, "testdata/why.golden", out.String())
	if code, _, stderr := call("why", "pod/a", "--run", "testdata"); code != 1 || !strings.Contains(stderr, "has no run in it") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if code, stdout, _ := call("why", "deploy/web", "--run", savedRun, "-o", "json"); code != 0 || !strings.Contains(stdout, `"because": [`) {
		t.Errorf("exit code %d, %s", code, stdout)
	}
}
