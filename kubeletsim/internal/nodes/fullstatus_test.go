package nodes

import (
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

func TestNodeInFull(t *testing.T) {
	versions := Versions{Kubelet: "v1.37.2", Runtime: "v0.1.0"}
	spec := Spec{
		Name: "node-3", Labels: map[string]string{"zone": "a"}, Annotations: map[string]string{"me": "too"},
		Taints:   []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}},
		Capacity: corev1.ResourceList{"example.com/gpu": resource.MustParse("2")},
	}
	n := newNode(spec, "172.18.0.5", netip.MustParsePrefix("10.244.3.0/24"))
	n.AddImages([]lifecycle.Image{{Name: "nginx"}, {Name: "registry.example/agent:2"}}, time.Time{})
	object := Object(n, versions, podtest.Epoch)
	// The machine's own architecture is the node's.
	object.Status.NodeInfo.Architecture = "ARCH"
	for _, label := range []string{"beta.kubernetes.io/arch", corev1.LabelArchStable} {
		object.Labels[label] = "ARCH"
	}
	data, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/node.txt", string(data))
}

func testNode(t *testing.T) *Node {
	t.Helper()
	return testNodeNamed("node-0")
}
