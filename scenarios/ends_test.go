package scenarios

import (
	"testing"
)

// A run ends when a step fails at an instant at which another branch waits for its turn:
// the failing branch is in flight while it waits for the others to end, so no turn is
// granted any more.
func TestFailureEndsBranchesThatWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	const fails = "{expect: {counts: [{target: pods, equals: 7}]}}"
	for name, steps := range map[string]string{
		"sleep":                  "{background: true, sleep: 5s}, " + fails,
		"fault that lasts":       "{background: true, fault: {nodes: {action: crash, names: [node-0]}, for: 5m}}, " + fails,
		"fault that is repeated": "{background: true, fault: {nodes: {action: crash, names: [node-0]}, for: 1s, every: 10s}}, " + fails,
		"repetition":             "{background: true, repeat: {times: 9, every: 1s, steps: [{sleep: 1s}]}}, " + fails,
		"script":                 "{background: true, script: {run: sleep 60}}, " + fails,
		"several":                "{background: true, sleep: 5s}, {background: true, sleep: 1s}, {background: true, wait: {target: pod/a, for: create}}, " + fails,
		"within parallel":        "{parallel: [{repeat: {times: 1, steps: [{background: true, sleep: 5s}, " + fails + "]}}, {sleep: 5s}]}",
		"at the same instant":    "{background: true, sleep: 5s}, {expect: {within: 5s, counts: [{target: pods, equals: 7}]}}",
		"a background failure":   "{background: true, expect: {counts: [{target: pods, equals: 7}]}}, {background: true, sleep: 5s}, {sleep: 1m}",
		"in a repetition":        "{parallel: [{repeat: {times: 3, steps: [{kill: {pods: {selector: app=web}}}]}}, " + fails + "]}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, tr := runScenario(t, header+"  cluster: {nodes: 1}\n  steps: ["+steps+"]", Options{})
			if result.Failure == nil || result.Interrupted {
				t.Errorf("the run did not fail:\n%s", tr)
			}
		})
	}
}
