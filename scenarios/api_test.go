package scenarios_test

import (
	"testing"
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/scenarios"
)

// The same as from a file.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	cluster, err := minikcm.Start(t.Context(), minikcm.Options{Nodes: 2, NoHTTPS: true, ClockMode: clock.ModeVirtual, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	}()
	scenarios.New(t, cluster).
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
	if passed := cluster.Clock().Since(minikcm.DefaultClockStart); passed < time.Hour || passed > 2*time.Hour {
		t.Errorf("%v passed, want an hour and a little", passed)
	}
}
