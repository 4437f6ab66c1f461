// Package jobset tests JobSet with its webhooks.
package jobset

import (
	"path/filepath"
	"strings"
	"testing"

	"minikcm.dev/minikcm/client"
	"minikcm.dev/minikcm/test/clients/thirdparty"
)

const jobSet = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: training, namespace: default}
spec:
  replicatedJobs:
  - name: leader
    template:
      spec:
        parallelism: 1
        completions: 1
        template:
          spec:
            restartPolicy: Never
            containers: [{name: leader, image: busybox, command: [sh, -c, "sleep 2"]}]
  - name: workers
    replicas: 2
    template:
      spec:
        parallelism: 2
        completions: 2
        template:
          spec:
            restartPolicy: Never
            containers: [{name: worker, image: busybox, command: [sh, -c, "sleep 3"]}]
`

// TestJobSet installs the chart and runs the controller in place of its pod. Its certificates
// come from the controller itself, which writes them into a Secret and both webhook configurations.
func TestJobSet(t *testing.T) {
	c := thirdparty.Start(t, client.Nodes(2))
	chart := filepath.Join(thirdparty.Source(t, "sigs.k8s.io/jobset"), "charts/jobset")
	c.Helm("install", "jobset", chart, "-n", "jobset-system", "--create-namespace")
	c.InPlaceOf("jobset-system", "jobset-controller", thirdparty.Build(t, "sigs.k8s.io/jobset"), "--config=/controller_manager_config.yaml")
	c.Kubectl("rollout", "status", "-n", "jobset-system", "deployment/jobset-controller", "--timeout=2m")

	c.Refused(strings.Replace(jobSet, "name: training", "name: "+strings.Repeat("training", 7), 1), "JobSet name is too long")
	c.Apply(jobSet)
	if mode := c.Kubectl("get", "jobset/training", "-o", "jsonpath={.spec.replicatedJobs[*].template.spec.completionMode}"); mode != "Indexed Indexed" {
		t.Errorf("the mutating webhook left the completion modes %q", mode)
	}
	c.Kubectl("wait", "--for=condition=Completed", "jobset/training", "--timeout=2m")
	if jobs := c.Kubectl("get", "jobs", "-o", "jsonpath={range .items[*]}{.metadata.name}={.status.succeeded} {end}"); jobs != "training-leader-0=1 training-workers-0=2 training-workers-1=2 " {
		t.Errorf("the Jobs are %q", jobs)
	}
	c.Kubectl("delete", "jobset/training", "--timeout=1m")
	c.Kubectl("wait", "--for=delete", "jobs", "--all", "--timeout=1m")
}
