package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/scenarios"
)

func TestCostText(t *testing.T) {
	result := &scenarios.Result{Processor: 10 * time.Second, Run: &runrecord.Run{Totals: runrecord.Totals{
		Writes: 400, Heartbeats: 300, ByActorAndResource: map[string]int64{"kubelet leases": 300, "scheduler pods/binding": 5, "kubelet pods/status": 5},
	}}}
	for i := range 8 {
		result.Steps = append(result.Steps, scenarios.StepResult{Title: fmt.Sprintf("step %d", i), Processor: time.Duration(i*i) * 10 * time.Millisecond})
	}
	for i := range 10 {
		result.Run.Totals.ByActorAndResource[fmt.Sprintf("client-%d configmaps", i)] = 9
	}
	golden.Compare(t, "testdata/cost.golden", costText(result))
	if text := costText(&scenarios.Result{}); text != "" {
		t.Errorf("without figures: %q", text)
	}
}

// A real run has figures for all of it.
func TestScenarioRunVerbose(t *testing.T) {
	code, out, errOut := call("scenario", "run", "pod-kill", "-v")
	if code != 0 || errOut != "" {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	for _, want := range []string{"Processor time: ", "start and end of the cluster\n", "as heartbeats do\n", "  kubelet pods/status\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}
