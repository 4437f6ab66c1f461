package scenarios

import (
	"fmt"
	"testing"
)

// TestPools: a scenario's pools are written as in a NodePools file, and may contain variables.
func TestPools(t *testing.T) {
	const file = `apiVersion: minikcm.dev/v1alpha1
kind: Scenario
metadata: {name: pools}
spec:
  vars: {SIZE: 1Gi, ZONE: b}
  cluster:
    pools:
    - name: a
      nodes: 3
      zones: [a, "${ZONE}"]
      kubeletVersion: v1.36.1
      readyDelay: 30s
      allocatable: {cpu: 3}
      images: [{name: "shop:2", size: "${SIZE}"}]
      devices: [{driver: gpu.example.com, count: 2, attributes: {model: a100}}]
  steps:
  - sleep: 1s
`
	found, err := Parse("pools.yaml", []byte(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	options, err := clusterOptions(&found[0].Spec.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if len(options.Nodes.Pools) != 1 || options.Nodes.Count != -1 {
		t.Fatalf("%d nodes, pools %v", options.Nodes.Count, options.Nodes.Pools)
	}
	pool := options.Nodes.Pools[0]
	cpu := pool.Node.Allocatable["cpu"]
	got := fmt.Sprintf("%d %v %s %s %v %q", pool.Count, pool.Zones, pool.Node.KubeletVersion, cpu.String(), pool.Node.Images, pool.Node.Annotations)
	if want := `3 [a b] v1.36.1 3 [{shop:2 1073741824}] map["minikcm.dev/devices":"gpu.example.com 2 model=a100\n" "minikcm.dev/ready-delay":"30s"]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
