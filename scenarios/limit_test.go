package scenarios

import (
	"strings"
	"testing"
	"time"
)

// What happens at the very instant at which a limit ends is in time, whatever was set
// first; what happens a millisecond later is not.
func TestLimits(t *testing.T) {
	t.Parallel()
	const quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: there, namespace: default}}"
	for name, test := range map[string]struct {
		spec string
		// failure is a part of the scenario's failure; empty: it passes.
		failure string
		lasts   time.Duration
	}{
		"a missing object comes at the limit": {
			spec: `  invariants: [{name: there, eventually: {within: 30s, objects: [` + quota + `]}}]
  steps: [{sleep: 30s}, {create: {objects: [` + quota + `]}}, {sleep: 5s}]`,
			lasts: 35 * time.Second,
		},
		"a missing object comes too late": {
			spec: `  invariants: [{name: there, eventually: {within: 30s, objects: [` + quota + `]}}]
  steps: [{sleep: 30s1ms}, {create: {objects: [` + quota + `]}}, {sleep: 5s}]`,
			failure: `invariant "there": not within 30s: `, lasts: 30 * time.Second,
		},
		"it comes at the limit, goes again, and comes at the next limit": {
			spec: `  invariants: [{name: there, eventually: {within: 30s, objects: [` + quota + `]}}]
  steps:
    - sleep: 30s
    - create: {objects: [` + quota + `]}
    - wait: {target: resourcequota/there, for: create}
    - delete: {target: resourcequota/there}
    - wait: {target: resourcequota/there, for: delete}
    - sleep: 30s
    - create: {objects: [` + quota + `]}`,
			lasts: time.Minute,
		},
		"a controller does it at the limit": {
			spec: `  invariants: [{name: running, eventually: {within: 20s, counts: [{target: pods, where: {status: {phase: Running}}, min: 1}]}}]
  steps: [{create: {objects: [{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, annotations: {minikcm.dev/start-delay: 20s}}, spec: {containers: [{name: a, image: a}]}}]}}, {sleep: 1m}]`,
			lasts: time.Minute,
		},
		"an expression about the time holds at the limit": {
			spec: `  invariants: [{name: late, eventually: {within: 30s, given: {nodes: {target: nodes}}, cel: ['elapsed >= duration("30s")']}}]
  steps: [{sleep: 40s}]`,
			lasts: 40 * time.Second,
		},
		"the end waits for what comes at the limit": {
			spec: `  invariants: [{name: there, eventually: {within: 30s, objects: [` + quota + `]}}]
  steps: [{background: true, repeat: {times: 1, steps: [{sleep: 30s}, {create: {objects: [` + quota + `]}}]}}]`,
			lasts: 30 * time.Second,
		},
		"steps that end with the timeout": {
			spec:  `  steps: [{sleep: 30s}, {create: {objects: [` + quota + `]}}, {wait: {target: resourcequota/there, for: create}}]` + "\n  timeout: 30s",
			lasts: 30 * time.Second,
		},
		"what comes after the timeout": {
			spec:    "  steps: [{sleep: 15s}, {wait: {target: pod/a, for: create, within: 30s}}]\n  timeout: 30s",
			failure: "the scenario's timeout of 30s is over", lasts: 30 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, tr := runScenario(t, header+test.spec, Options{})
			if (result.Failure != nil) != (test.failure != "") || result.Failure != nil && !strings.Contains(result.Failure.Error(), test.failure) {
				t.Errorf("it should fail with %q; got:\n%s", test.failure, tr)
			}
			if result.Cluster != test.lasts {
				t.Errorf("it took %v, want %v", result.Cluster, test.lasts)
			}
		})
	}
}
