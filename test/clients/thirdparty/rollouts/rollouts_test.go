// Package rollouts tests Argo Rollouts.
package rollouts

import (
	"path/filepath"
	"testing"

	"minikcm.dev/minikcm/client"
	"minikcm.dev/minikcm/test/clients/thirdparty"
)

const canary = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: default}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  strategy:
    canary:
      steps:
      - setWeight: 50
      - pause: {}
      - setWeight: 75
      - pause: {duration: 1s}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: web, image: "nginx:1"}]
`

// TestRollouts applies the project's manifest, and runs the controller in place of its pod: an
// update stops at half of the pods, and continues when a user promotes it.
func TestRollouts(t *testing.T) {
	c := thirdparty.Start(t, client.Nodes(2))
	c.Kubectl("create", "namespace", "argo-rollouts")
	c.Kubectl("apply", "--server-side", "-n", "argo-rollouts", "-f", filepath.Join(thirdparty.Source(t, "github.com/argoproj/argo-rollouts"), "manifests/install.yaml"))
	c.InPlaceOf("argo-rollouts", "argo-rollouts", thirdparty.Build(t, "github.com/argoproj/argo-rollouts/cmd/rollouts-controller"))

	c.Apply(canary)
	c.Kubectl("wait", "--for=jsonpath={.status.phase}=Healthy", "rollout/web", "--timeout=2m")
	c.Kubectl("patch", "rollout/web", "--type=json", "-p", `[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "nginx:2"}]`)
	c.Kubectl("wait", "--for=jsonpath={.status.phase}=Paused", "rollout/web", "--timeout=1m")
	if images := c.Kubectl("get", "pods", "-l", "app=web", "--sort-by=.spec.containers[0].image", "-o", "jsonpath={.items[*].spec.containers[0].image}"); images != "nginx:1 nginx:1 nginx:2 nginx:2" {
		t.Errorf("the pods of the paused update have the images %s", images)
	}
	c.Kubectl("patch", "rollout/web", "--subresource=status", "--type=merge", "-p", `{"status": {"pauseConditions": null}}`)
	c.Kubectl("wait", "--for=jsonpath={.status.phase}=Healthy", "rollout/web", "--timeout=1m")
	if images := c.Kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.containers[0].image}"); images != "nginx:2 nginx:2 nginx:2 nginx:2" {
		t.Errorf("the pods of the promoted update have the images %s", images)
	}
}
