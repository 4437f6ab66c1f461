package loop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"

	"github.com/google/go-cmp/cmp"

	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/loop"
)

func pod(name, revision, controller string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, ResourceVersion: revision}}
	if controller != "" {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: controller, Controller: &yes}}
	}
	return p
}

// podInformer returns an informer of the pods in a source, which numbers its changes from 1 on.
func podInformer(t *testing.T, pods ...*corev1.Pod) (cache.SharedIndexInformer, *cachetesting.FakeControllerSource) {
	t.Helper()
	source := cachetesting.NewFakeControllerSource()
	t.Cleanup(source.Broadcaster.Shutdown)
	for _, p := range pods {
		source.Add(p)
	}
	return cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{}), source
}

func TestWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	informer, pods := podInformer(t, pod("first", "", ""))
	lines := make(chan string, 100)
	l := loop.New(loop.Options{Name: "test"}, loop.Func(func(ctx context.Context, k types.NamespacedName) (loop.Result, error) {
		lines <- fmt.Sprintf("reconcile %s %v", k.Name, cause.From(ctx))
		return loop.Result{}, nil
	}))
	l.Watch(informer, func(ev loop.Event) []types.NamespacedName {
		old := "none"
		if ev.Old != nil {
			old = ev.Old.GetResourceVersion()
		}
		lines <- fmt.Sprintf("%s %s at %s, before %s", ev.Type, ev.Object.GetName(), ev.Object.GetResourceVersion(), old)
		return loop.Self(ev)
	})
	ended := make(chan error)
	go func() { ended <- l.Run(ctx) }()
	running := make(chan struct{})
	go func() {
		defer close(running)
		informer.RunWithContext(ctx)
	}()
	expect := func(want ...string) {
		t.Helper()
		var got []string
		for range want {
			got = append(got, <-lines)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	expect("Added first at 1, before none", "reconcile first [1]")
	pods.Modify(pod("first", "", ""))
	expect("Updated first at 2, before 1", "reconcile first [2]")
	pods.Delete(pod("first", "", ""))
	expect("Deleted first at 3, before none", "reconcile first [3]")
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run() = %v", err)
	}
	<-running
}

func TestControllerOf(t *testing.T) {
	mapFn := loop.ControllerOf(schema.GroupKind{Group: "apps", Kind: "ReplicaSet"})
	other := pod("p", "1", "x")
	other.OwnerReferences[0].Kind = "Job"
	elsewhere := pod("p", "1", "x")
	elsewhere.OwnerReferences[0].APIVersion = "example.com/v1"
	for name, tt := range map[string]struct {
		ev   loop.Event
		want []types.NamespacedName
	}{
		"controlled":       {loop.Event{Object: pod("p", "1", "x")}, []types.NamespacedName{key("x")}},
		"orphan":           {loop.Event{Object: pod("p", "1", "")}, nil},
		"of another kind":  {loop.Event{Object: other}, nil},
		"of another group": {loop.Event{Object: elsewhere}, nil},
		"still the same":   {loop.Event{Type: loop.Updated, Object: pod("p", "2", "x"), Old: pod("p", "1", "x")}, []types.NamespacedName{key("x")}},
		"another one":      {loop.Event{Type: loop.Updated, Object: pod("p", "2", "y"), Old: pod("p", "1", "x")}, []types.NamespacedName{key("y"), key("x")}},
		"released":         {loop.Event{Type: loop.Updated, Object: pod("p", "2", ""), Old: pod("p", "1", "x")}, []types.NamespacedName{key("x")}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, mapFn(tt.ev)); diff != "" {
				t.Errorf("ControllerOf() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeysOf(t *testing.T) {
	pods := []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x"}}, {ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "y"}}}
	wanted := func(pod *corev1.Pod) bool { return pod.Name == "y" }
	got := loop.KeysOf(func(labels.Selector) ([]*corev1.Pod, error) { return pods, nil }, wanted)
	if want := []types.NamespacedName{{Namespace: "a", Name: "y"}}; !slices.Equal(got, want) {
		t.Errorf("KeysOf() = %v, want %v", got, want)
	}
	if got := loop.KeysOf(func(labels.Selector) ([]*corev1.Pod, error) { return pods, errors.New("broken") }, wanted); got != nil {
		t.Errorf("KeysOf() of a list that fails = %v", got)
	}
	for event, want := range map[loop.EventType]int{loop.Added: 1, loop.Updated: 1, loop.Deleted: 0} {
		if got := loop.Present(loop.Event{Type: event, Object: pods[0]}); len(got) != want {
			t.Errorf("Present() of %s = %v", event, got)
		}
	}
}
