package simulatedmetrics_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/simulatedmetrics"
	"minikcm.dev/minikcm/internal/usage"
)

var now = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// objects are the objects of an API, by resource. lists counts what was listed in all namespaces.
type objects struct {
	all   map[string][]runtime.Object
	lists map[string]int
}

func (o objects) List(_ context.Context, gvr schema.GroupVersionResource, namespace string) ([]runtime.Object, error) {
	if namespace == "" {
		o.lists[gvr.Resource]++
		return o.all[gvr.Resource], nil
	}
	var some []runtime.Object
	for _, obj := range o.all[gvr.Resource] {
		if m, ok := obj.(metav1.Object); ok && m.GetNamespace() == namespace {
			some = append(some, obj)
		}
	}
	return some, nil
}

func nodeWith(name, cpu string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Capacity:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}
}

func runningPod(namespace, name, node, request string, annotations map[string]string) *corev1.Pod {
	since := metav1.NewTime(now.Add(-time.Hour))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name), Labels: map[string]string{"app": name}, Annotations: annotations},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(request)}},
		}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}}}},
		},
	}
}

// TestContention: pods of different namespaces, one of them with a load of its Service, share the
// CPU of their node. A pod that stays within its request is measured without a look at others.
func TestContention(t *testing.T) {
	busy := map[string]string{"minikcm.dev/cpu": "8"}
	idle, own, shared := runningPod("a", "idle", "small", "1", nil), runningPod("a", "own", "small", "1", busy), runningPod("b", "shared", "small", "2", nil)
	free := runningPod("b", "free", "large", "1", busy)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "shared", Annotations: map[string]string{"minikcm.dev/load-cpu": "6"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "shared"}},
	}
	small, large := nodeWith("small", "5"), nodeWith("large", "32")
	world := objects{lists: map[string]int{}, all: map[string][]runtime.Object{
		"nodes": {small, large}, "services": {service}, "pods": {idle, own, shared, free},
	}}
	source := simulatedmetrics.New(clock.NewVirtual(now, clock.NewLedger()), 1, func() usage.Rules { return nil })
	for _, tt := range []struct {
		name  string
		pods  []*corev1.Pod
		want  string
		lists int
	}{
		{"within the request", []*corev1.Pod{idle}, "idle 500m", 0},
		{"one of a node", []*corev1.Pod{own}, "own 1500m", 1},
		{"with a shared load", []*corev1.Pod{shared}, "shared 3", 1},
		{"a node with idle CPU", []*corev1.Pod{free}, "free 8", 1},
		{"all", []*corev1.Pod{idle, own, shared, free}, "idle 500m, own 1500m, shared 3, free 8", 1},
	} {
		clear(world.lists)
		metrics, err := source.PodMetrics(t.Context(), world, tt.pods)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		var got []string
		for _, m := range metrics {
			got = append(got, fmt.Sprintf("%s %s", m.Name, m.Containers[0].Usage.Cpu()))
		}
		if text := strings.Join(got, ", "); text != tt.want || world.lists["pods"] != tt.lists {
			t.Errorf("%s: %s and %d lists of all pods, want %s and %d", tt.name, text, world.lists["pods"], tt.want, tt.lists)
		}
	}
	metrics, err := source.NodeMetrics(t.Context(), world, []*corev1.Node{small, large})
	if err != nil || len(metrics) != 2 || metrics[0].Usage.Cpu().String() != "5" || metrics[1].Usage.Cpu().String() != "8" {
		t.Errorf("the nodes: %v, %v", metrics, err)
	}
}
