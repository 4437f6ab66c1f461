package nodes

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// Whatever of a node's status a kubelet makes, its change is noticed.
func TestSameNodeStatus(t *testing.T) {
	status := corev1.NodeStatus{
		Capacity:    corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("32")},
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("31")},
		Addresses:   []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "node-1"}},
		NodeInfo:    corev1.NodeSystemInfo{BootID: "1"},
		Images:      []corev1.ContainerImage{{Names: []string{"nginx"}, SizeBytes: 1}},
		Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(podtest.Epoch)}},
	}
	same := status.DeepCopy()
	same.Capacity[corev1.ResourceCPU] = resource.MustParse("32000m")
	same.Conditions[0].LastHeartbeatTime = metav1.NewTime(podtest.Epoch.Local())
	if !sameNodeStatus(&status, same) {
		t.Error("the same status written otherwise is taken for another")
	}
	changes := map[string]func(s *corev1.NodeStatus){
		"Capacity":         func(s *corev1.NodeStatus) { s.Capacity[corev1.ResourceMemory] = resource.MustParse("1Gi") },
		"Allocatable":      func(s *corev1.NodeStatus) { s.Allocatable[corev1.ResourceCPU] = resource.MustParse("30") },
		"Addresses":        func(s *corev1.NodeStatus) { s.Addresses[0].Address = "node-2" },
		"NodeInfo":         func(s *corev1.NodeStatus) { s.NodeInfo.BootID = "2" },
		"Images":           func(s *corev1.NodeStatus) { s.Images[0].Names = append(s.Images[0].Names, "nginx:1") },
		"DeclaredFeatures": func(s *corev1.NodeStatus) { s.DeclaredFeatures = []string{"Another"} },
		"Conditions":       func(s *corev1.NodeStatus) { s.Conditions[0].Status = corev1.ConditionFalse },
	}
	for field, change := range changes {
		other := status.DeepCopy()
		change(other)
		if sameNodeStatus(&status, other) {
			t.Errorf("another value of %s is not noticed", field)
		}
	}
	// A field that nodeStatus begins to make needs a case, and to be compared.
	made, _ := Status(&corev1.Node{}, testNode(t), Versions{}, podtest.Epoch)
	for field, value := range reflect.ValueOf(made).Fields() {
		if changes[field.Name] == nil && !value.IsZero() {
			t.Errorf("%s is made and not compared", field.Name)
		}
	}
}
