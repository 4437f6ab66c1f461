package replicaset

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"minikcm.dev/minikcm/controllers/loop"
)

func newReconciler(t *testing.T, sets ...*appsv1.ReplicaSet) (*Reconciler[*appsv1.ReplicaSet], cache.Indexer) {
	t.Helper()
	indexer := func() cache.Indexer {
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	s := Sources{Clock: clocktesting.NewFakePassiveClock(now), ReplicaSets: indexer(), Pods: indexer()}
	for _, rs := range sets {
		if err := s.ReplicaSets.Add(rs); err != nil {
			t.Fatal(err)
		}
	}
	r, err := NewReconciler(ReplicaSets(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r, s.Pods
}

func TestOnPod(t *testing.T) {
	web, db, all, elsewhere := replicaSet(1), replicaSet(1), replicaSet(1), replicaSet(1)
	db.Name, db.Spec.Selector = "db", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	all.Name, all.Spec.Selector = "all", &metav1.LabelSelector{}
	elsewhere.Namespace = "b"
	r, _ := newReconciler(t, web, db, all, elsewhere)
	of := func(name string) podOption {
		return func(p *corev1.Pod) {
			p.OwnerReferences[0].APIVersion, p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name = "apps/v1", "ReplicaSet", name
		}
	}
	revision := func(n string) podOption { return func(p *corev1.Pod) { p.ResourceVersion = n } }
	noLabels := func(p *corev1.Pod) { p.Labels = nil }
	updated := func(before, after []podOption) loop.Event {
		return loop.Event{Type: loop.Updated, Old: pod("p", append(before, revision("1"))...), Object: pod("p", append(after, revision("2"))...)}
	}
	opts := func(o ...podOption) []podOption { return o }
	for name, tt := range map[string]struct {
		ev   loop.Event
		want []string
	}{
		"added":                 {loop.Event{Object: pod("p", of("web"))}, []string{"web"}},
		"deleted":               {loop.Event{Type: loop.Deleted, Object: pod("p", of("web"))}, []string{"web"}},
		"bound":                 {updated(opts(of("web"), on("")), opts(of("web"), on("n1"))), nil},
		"resynced":              {loop.Event{Type: loop.Updated, Old: pod("p", of("web")), Object: pod("p", of("web"))}, []string{"web"}},
		"ready":                 {updated(opts(of("web")), opts(of("web"), ready(0))), []string{"web"}},
		"ready again":           {updated(opts(of("web"), ready(time.Hour)), opts(of("web"), ready(0))), []string{"web"}},
		"failed":                {updated(opts(of("web")), opts(of("web"), phase(corev1.PodFailed))), []string{"web"}},
		"terminating":           {updated(opts(of("web")), opts(of("web"), going)), []string{"web"}},
		"relabelled":            {updated(opts(of("web")), opts(of("web"), labelled("app", "db"))), []string{"web"}},
		"released":              {updated(opts(of("web")), opts(orphan)), []string{"web", "web"}},
		"orphan added":          {loop.Event{Object: pod("p", orphan)}, []string{"web"}},
		"orphan of others":      {loop.Event{Object: pod("p", orphan, labelled("app", "x"))}, nil},
		"orphan without labels": {loop.Event{Object: pod("p", orphan, noLabels)}, nil},
		"orphan deleted":        {loop.Event{Type: loop.Deleted, Object: pod("p", orphan)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, key := range r.OnPod(tt.ev) {
				got = append(got, key.Name)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("OnPod() = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestCrowdCountsSiblings(t *testing.T) {
	yes := true
	sibling := func(name string, uid types.UID) *appsv1.ReplicaSet {
		rs := replicaSet(1)
		rs.Name, rs.UID = name, uid
		rs.OwnerReferences = []metav1.OwnerReference{{UID: "deployment", Controller: &yes}}
		return rs
	}
	web := sibling("web", "rs")
	r, pods := newReconciler(t, web, sibling("web-old", "old"))
	ofOld := func(p *corev1.Pod) { p.OwnerReferences[0].UID = "old" }
	stranger := func(p *corev1.Pod) { p.OwnerReferences[0].UID = "stranger" }
	for _, p := range []*corev1.Pod{pod("p1"), pod("p2", ofOld), pod("p3", stranger), pod("p4", going), pod("p5", on("")), pod("p6", on("n2"))} {
		if err := pods.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	got := r.crowd(web)
	if len(got) != 2 || got["n1"] != 2 || got["n2"] != 1 {
		t.Errorf("crowd() = %v", got)
	}
}
