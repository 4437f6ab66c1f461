package nodes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

func TestExtendedResourcesAreKept(t *testing.T) {
	n := testNode(t)
	object := &corev1.Node{Status: corev1.NodeStatus{Capacity: podtest.Resources("example.com/gpu", "1", "cpu", "1")}}
	status, _ := Status(object, n, Versions{}, podtest.Epoch)
	for _, list := range []corev1.ResourceList{status.Capacity, status.Allocatable} {
		if gpu, cpu := list["example.com/gpu"], list[corev1.ResourceCPU]; gpu.Value() != 1 || cpu.Value() != 32 {
			t.Errorf("%v", list)
		}
	}
}
