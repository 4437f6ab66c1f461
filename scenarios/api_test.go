package scenarios_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/scenarios"
	"minikcm.dev/minikcm/scenarios/fault"
)

// The same as from a file.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	cluster, err := minikcm.Start(t.Context(), minikcm.Options{Nodes: minikcm.NodeOptions{Count: 2}, API: minikcm.APIOptions{NoHTTPS: true}, Clock: minikcm.ClockOptions{Mode: clock.ModeVirtual}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	}()
	r := scenarios.New(t, cluster).
		Apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
`).
		Within(30*time.Second).
		Wait("deployment/web", "rollout").
		Kill("app=web", 1).
		WaitAll("pods", "app=web", "count=2").
		Scale("deployment/web", 3).
		Expect(`
counts:
  - {target: pods, selector: app=web, where: {status: {phase: Running}}, equals: 3}
`).
		Sleep(time.Hour).
		Delete("deployment/web").
		WaitAll("pods", "app=web", "delete")
	if passed := r.Clock().Since(minikcm.DefaultClockStart); passed < time.Hour || passed > 2*time.Hour {
		t.Errorf("%v passed, want an hour and a little", passed)
	}
}

// Go code injects faults of nodes as a file does, until they are taken back.
func TestRehearsalOfFaults(t *testing.T) {
	t.Parallel()
	cluster, err := minikcm.Start(t.Context(), minikcm.Options{Nodes: minikcm.NodeOptions{Count: 3}, API: minikcm.APIOptions{NoHTTPS: true}, Clock: minikcm.ClockOptions{Mode: clock.ModeVirtual}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	}()
	scenarios.New(t, cluster).
		Within(2*time.Minute).
		KillNode("node-0").
		Fault(fault.Fault{Nodes: &fault.Nodes{Action: fault.NodeCrash, Names: []string{"node-1"}, Share: fault.Share{All: true}}}).
		Wait("node/node-0", "condition=Ready=Unknown").
		Wait("node/node-1", "condition=Ready=Unknown").
		TakeBack().
		Wait("node/node-1", "condition=Ready")
	node, err := cluster.Client().CoreV1().Nodes().Get(t.Context(), "node-2", metav1.GetOptions{})
	if err != nil || node.Status.Conditions[len(node.Status.Conditions)-1].Status != corev1.ConditionTrue {
		t.Errorf("the node that was left alone: %+v, %v", node.Status.Conditions, err)
	}
}
