package scenarios

import (
	"strings"
	"testing"
	"time"
)

const slowWeb = `
    - apply:
        objects:
          - apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web, namespace: default}
            spec:
              replicas: 3
              selector: {matchLabels: {app: web}}
              template:
                metadata: {labels: {app: web}, annotations: {minikcm.dev/ready-delay: 5s}}
                spec: {containers: [{name: web, image: nginx}]}
    - {name: deployed, wait: {target: deployment/web, for: rollout}}
    - kill: {pods: {selector: app=web}}
`

// A rollout or a condition of before a fault is none of after it.
func TestWaitsForWhatFollows(t *testing.T) {
	t.Parallel()
	for _, wait := range []string{"for: rollout", "for: condition=Available"} {
		kill := map[string]string{"for: rollout": "", "for: condition=Available": "    - kill: {pods: {selector: app=web, count: 2}}\n"}[wait]
		result, _ := runScenario(t, header+"  steps:"+slowWeb+kill+"    - wait: {target: deployment/web, "+wait+"}\n", Options{})
		if result.Failure != nil || result.Cluster != 10*time.Second {
			t.Errorf("%s: over after %v, want 10s: %v", wait, result.Cluster, result.Failure)
		}
	}
}

// What the last step leads to at its moment is seen by the invariants.
func TestInvariantsSeeTheEnd(t *testing.T) {
	t.Parallel()
	invariant := "  invariants: [{name: three are ready, after: deployed, always: {objects: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, status: {readyReplicas: 3}}]}}]\n"
	result, _ := runScenario(t, header+invariant+"  steps:"+slowWeb, Options{})
	if result.Failure == nil || !strings.Contains(result.Failure.Error(), "status.readyReplicas: expected 3, found 2") {
		t.Errorf("got %v", result.Failure)
	}
}

// A pod that is being deleted serves no more: null says that a field is not set.
func TestNotSet(t *testing.T) {
	t.Parallel()
	text := header + "  steps:" + slowWeb[:strings.Index(slowWeb, "    - kill")] + `
    - delete: {target: pods, selector: app=web, grace: 30s}
    - expect: {counts: [{target: pods, where: {status: {phase: Running}}, equals: 3}, {target: pods, where: {metadata: {deletionTimestamp: null}}, equals: 0}]}
`
	if result, _ := runScenario(t, text, Options{}); result.Failure != nil {
		t.Error(result.Failure)
	}
}
