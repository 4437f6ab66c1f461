package endpointslice

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"minikcm.dev/minikcm/internal/loop"
)

func testSlice(service, manager string, generation int64) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: "s", UID: "u", Generation: generation,
		Labels: map[string]string{discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: manager},
	}}
}

func TestOnSlice(t *testing.T) {
	web, other := types.NamespacedName{Namespace: "a", Name: "web"}, types.NamespacedName{Namespace: "a", Name: "other"}
	for name, tt := range map[string]struct {
		tracked *discoveryv1.EndpointSlice
		ev      loop.Event
		want    []types.NamespacedName
	}{
		"written by us":           {testSlice("web", ManagedBy, 1), loop.Event{Type: loop.Added, Object: testSlice("web", ManagedBy, 1)}, nil},
		"appeared":                {nil, loop.Event{Type: loop.Added, Object: testSlice("web", ManagedBy, 1)}, []types.NamespacedName{web}},
		"another manager's":       {nil, loop.Event{Type: loop.Added, Object: testSlice("web", "x", 1)}, nil},
		"changed by others":       {testSlice("web", ManagedBy, 1), loop.Event{Type: loop.Updated, Old: testSlice("web", ManagedBy, 1), Object: testSlice("web", ManagedBy, 2)}, []types.NamespacedName{web}},
		"taken from us":           {testSlice("web", ManagedBy, 1), loop.Event{Type: loop.Updated, Old: testSlice("web", ManagedBy, 1), Object: testSlice("web", "x", 2)}, []types.NamespacedName{web}},
		"moved to another":        {testSlice("web", ManagedBy, 1), loop.Event{Type: loop.Updated, Old: testSlice("web", ManagedBy, 1), Object: testSlice("other", ManagedBy, 1)}, []types.NamespacedName{web, other}},
		"deleted by others":       {testSlice("web", ManagedBy, 1), loop.Event{Type: loop.Deleted, Object: testSlice("web", ManagedBy, 1)}, []types.NamespacedName{web}},
		"deleted, never seen":     {nil, loop.Event{Type: loop.Deleted, Object: testSlice("web", ManagedBy, 1)}, nil},
		"of no service, but ours": {nil, loop.Event{Type: loop.Added, Object: testSlice("", ManagedBy, 1)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cache := func() cache.Indexer { return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}) }
			r, err := NewReconciler(Sources{Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0)), Services: cache(), Pods: cache(), Nodes: cache(), Slices: cache()})
			if err != nil {
				t.Fatal(err)
			}
			if tt.tracked != nil {
				r.tracker.Update(tt.tracked)
			}
			if diff := cmp.Diff(tt.want, r.OnSlice(tt.ev)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSameTopology(t *testing.T) {
	node := func(zone, cpu string, ready corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelTopologyZone: zone}},
			Status: corev1.NodeStatus{
				Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
				Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}},
			},
		}
	}
	base := node("x", "1", corev1.ConditionTrue)
	for name, tt := range map[string]struct {
		other *corev1.Node
		want  bool
	}{
		"same":      {node("x", "1000m", corev1.ConditionTrue), true},
		"zone":      {node("y", "1", corev1.ConditionTrue), false},
		"cpu":       {node("x", "2", corev1.ConditionTrue), false},
		"readiness": {node("x", "1", corev1.ConditionUnknown), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sameTopology(base, tt.other); got != tt.want {
				t.Errorf("sameTopology() = %v, want %v", got, tt.want)
			}
		})
	}
}
