// Package karpenter tests Karpenter's kwok provider.
package karpenter

import (
	"path/filepath"
	"testing"

	"minikcm.dev/minikcm/client"
	"minikcm.dev/minikcm/test/clients/thirdparty"
)

const nodePool = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
      - {key: kubernetes.io/os, operator: In, values: [linux]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  limits: {cpu: 1000}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 1s}
`

const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: web, image: nginx, resources: {requests: {cpu: "2"}}}]
`

// TestKarpenter lets Karpenter's kwok provider create the nodes of a cluster that has none, and
// remove them when their pods are gone.
func TestKarpenter(t *testing.T) {
	c := thirdparty.Start(t, client.Nodes(0))
	source := thirdparty.Source(t, "sigs.k8s.io/karpenter")
	c.Kubectl("apply", "-f", filepath.Join(source, "pkg/apis/crds"), "-f", filepath.Join(source, "kwok/apis/crds"))
	c.Run(thirdparty.Build(t, "sigs.k8s.io/karpenter/kwok"), "--metrics-port=0", "--health-probe-port=0", "--disable-leader-election=true", "--batch-idle-duration=100ms")

	c.Apply(nodePool)
	c.Kubectl("wait", "--for=condition=Ready", "nodepool/default", "--timeout=1m")
	c.Apply(workload)
	c.Kubectl("rollout", "status", "deployment/web", "--timeout=2m")
	nodes := c.Kubectl("get", "nodes", "-l", "karpenter.sh/nodepool=default", "-o", "name")
	if nodes == "" || c.Kubectl("get", "nodes", "-o", "name") != nodes {
		t.Errorf("Karpenter's nodes are %q", nodes)
	}
	c.Kubectl("scale", "deployment/web", "--replicas=0")
	c.Kubectl("wait", "--for=delete", "nodes", "-l", "karpenter.sh/nodepool=default", "--timeout=2m")
	if left := c.Kubectl("get", "nodes,nodeclaims", "-o", "name"); left != "" {
		t.Errorf("left: %s", left)
	}
}
