package scenarios_test

import (
	"context"
	"fmt"

	"minikcm.dev/minikcm/scenarios"
)

// A Deployment replaces a pod that was killed. The scenario runs in virtual time, so that its
// times are the same in every run.
func ExampleRun() {
	found, err := scenarios.Parse("heal.yaml", []byte(`
apiVersion: minikcm.dev/v1alpha1
kind: Scenario
metadata: {name: heal}
spec:
  cluster: {nodes: 1, readyDelay: 3s}
  steps:
    - create:
        objects:
          - apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web, namespace: default}
            spec:
              replicas: 2
              selector: {matchLabels: {app: web}}
              template:
                metadata: {labels: {app: web}}
                spec: {containers: [{name: web, image: nginx}]}
    - wait: {target: deployment/web, for: rollout}
    - sleep: 5m
    - kill: {pods: {selector: app=web}}
    - wait: {target: deployment/web, for: rollout}
`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := scenarios.Run(context.Background(), found[0], scenarios.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range result.Steps {
		fmt.Printf("%s: %v\n", step.Title, step.Cluster)
	}
	fmt.Println("passed:", result.Failure == nil)

	// Output:
	// create deployment/web: 0s
	// wait for rollout of deployment/web: 3s
	// sleep 5m0s: 5m0s
	// kill 1 of the pods app=web: 0s
	// wait for rollout of deployment/web: 3s
	// passed: true
}
