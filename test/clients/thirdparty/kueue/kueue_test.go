// Package kueue tests kueue with its webhooks.
package kueue

import (
	"path/filepath"
	"strings"
	"testing"

	"minikcm.dev/minikcm/client"
	"minikcm.dev/minikcm/test/clients/thirdparty"
)

// The quota is enough for one of the Jobs.
const queues = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cluster}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: default
      resources: [{name: cpu, nominalQuota: 2}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: local, namespace: default}
spec: {clusterQueue: cluster}
`

const first = `
apiVersion: batch/v1
kind: Job
metadata: {name: first, namespace: default, labels: {kueue.x-k8s.io/queue-name: local}}
spec:
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: job, image: busybox, command: [sh, -c, "until [ -e /tmp/end ]; do sleep 1; done"], resources: {requests: {cpu: 1}}}]
`

const second = `
apiVersion: batch/v1
kind: Job
metadata: {name: second, namespace: default, labels: {kueue.x-k8s.io/queue-name: local}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: job, image: busybox, command: [sleep, "1"], resources: {requests: {cpu: 1}}}]
`

const badQueue = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: bad}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: default
      resources: [{name: memory, nominalQuota: 2}, {name: cpu, nominalQuota: 2}]
`

// TestKueue installs the chart and runs the manager in place of its pod. Of two Jobs, the second
// waits until the first has returned its quota.
func TestKueue(t *testing.T) {
	c := thirdparty.Start(t, client.Nodes(2))
	chart := filepath.Join(thirdparty.Source(t, "sigs.k8s.io/kueue"), "charts/kueue")
	c.Helm("install", "kueue", chart, "-n", "kueue-system", "--create-namespace")
	c.InPlaceOf("kueue-system", "kueue-controller-manager", thirdparty.Build(t, "sigs.k8s.io/kueue/cmd/kueue"), "--config=/controller_manager_config.yaml")
	c.Kubectl("rollout", "status", "-n", "kueue-system", "deployment/kueue-controller-manager", "--timeout=2m")

	c.Refused(badQueue, "must match the name in coveredResources")
	c.Apply(queues)
	c.Kubectl("wait", "--for=condition=Active", "clusterqueue/cluster", "--timeout=1m")
	c.Apply(first)
	c.Kubectl("wait", "--for=jsonpath={.status.ready}=2", "job/first", "--timeout=1m")
	c.Apply(second)
	workload := c.Kubectl("get", "job/second", "-o", "jsonpath=--selector=kueue.x-k8s.io/job-uid={.metadata.uid}")
	c.Kubectl("wait", "--for=create", "workload", workload, "--timeout=1m")
	c.Kubectl("wait", "--for=condition=QuotaReserved=False", "workload", workload, "--timeout=1m")
	if suspended := c.Kubectl("get", "jobs", "-o", "jsonpath={.items[*].spec.suspend}"); suspended != "false true" {
		t.Errorf("suspended: %s", suspended)
	}
	// The aggregated API shows which workloads wait.
	c.Kubectl("wait", "--for=condition=Available", "apiservice/v1beta2.visibility.kueue.x-k8s.io", "--timeout=1m")
	if pending := c.Kubectl("get", "--raw", "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/cluster/pendingworkloads"); strings.Count(pending, `"localQueueName":"local"`) != 1 || !strings.Contains(pending, "job-second-") {
		t.Errorf("the workloads that wait are %s", pending)
	}
	for _, pod := range []string{"0", "1"} {
		name := c.Kubectl("get", "pods", "-l", "batch.kubernetes.io/job-name=first", "-o", "jsonpath={.items["+pod+"].metadata.name}")
		c.Kubectl("exec", name, "--", "touch", "/tmp/end")
	}
	c.Kubectl("wait", "--for=condition=Complete", "job/first", "job/second", "--timeout=2m")
}
