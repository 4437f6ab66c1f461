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

	"minikcm.dev/minikcm/controllers/internal/replicaset/replicasettest"
	"minikcm.dev/minikcm/internal/loop"
)

func newReconciler(t *testing.T, sets ...*appsv1.ReplicaSet) *Reconciler[*appsv1.ReplicaSet] {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	s := Sources{Clock: clocktesting.NewFakePassiveClock(replicasettest.Now), ReplicaSets: indexer}
	for _, rs := range sets {
		if err := s.ReplicaSets.Add(rs); err != nil {
			t.Fatal(err)
		}
	}
	r, err := NewReconciler(ReplicaSets(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOnPod(t *testing.T) {
	web, db, all, elsewhere := replicasettest.ReplicaSet(1), replicasettest.ReplicaSet(1), replicasettest.ReplicaSet(1), replicasettest.ReplicaSet(1)
	db.Name, db.Spec.Selector = "db", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	all.Name, all.Spec.Selector = "all", &metav1.LabelSelector{}
	elsewhere.Namespace = "b"
	r := newReconciler(t, web, db, all, elsewhere)
	of := func(name string) replicasettest.Option {
		return func(p *corev1.Pod) {
			p.OwnerReferences[0].APIVersion, p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name = "apps/v1", "ReplicaSet", name
		}
	}
	revision := func(n string) replicasettest.Option { return func(p *corev1.Pod) { p.ResourceVersion = n } }
	noLabels := func(p *corev1.Pod) { p.Labels = nil }
	updated := func(before, after []replicasettest.Option) loop.Event {
		return loop.Event{Type: loop.Updated, Old: replicasettest.Pod("p", append(before, revision("1"))...), Object: replicasettest.Pod("p", append(after, revision("2"))...)}
	}
	opts := func(o ...replicasettest.Option) []replicasettest.Option { return o }
	for name, tt := range map[string]struct {
		ev   loop.Event
		want []string
	}{
		"added":                 {loop.Event{Object: replicasettest.Pod("p", of("web"))}, []string{"web"}},
		"deleted":               {loop.Event{Type: loop.Deleted, Object: replicasettest.Pod("p", of("web"))}, []string{"web"}},
		"bound":                 {updated(opts(of("web"), replicasettest.On("")), opts(of("web"), replicasettest.On("n1"))), nil},
		"resynced":              {loop.Event{Type: loop.Updated, Old: replicasettest.Pod("p", of("web")), Object: replicasettest.Pod("p", of("web"))}, []string{"web"}},
		"ready":                 {updated(opts(of("web")), opts(of("web"), replicasettest.Ready(0))), []string{"web"}},
		"ready again":           {updated(opts(of("web"), replicasettest.Ready(time.Hour)), opts(of("web"), replicasettest.Ready(0))), []string{"web"}},
		"failed":                {updated(opts(of("web")), opts(of("web"), replicasettest.Phase(corev1.PodFailed))), []string{"web"}},
		"terminating":           {updated(opts(of("web")), opts(of("web"), replicasettest.Going)), []string{"web"}},
		"relabelled":            {updated(opts(of("web")), opts(of("web"), replicasettest.Labelled("app", "db"))), []string{"web"}},
		"released":              {updated(opts(of("web")), opts(replicasettest.Orphan)), []string{"web", "web"}},
		"orphan added":          {loop.Event{Object: replicasettest.Pod("p", replicasettest.Orphan)}, []string{"web"}},
		"orphan of others":      {loop.Event{Object: replicasettest.Pod("p", replicasettest.Orphan, replicasettest.Labelled("app", "x"))}, nil},
		"orphan without labels": {loop.Event{Object: replicasettest.Pod("p", replicasettest.Orphan, noLabels)}, nil},
		"orphan deleted":        {loop.Event{Type: loop.Deleted, Object: replicasettest.Pod("p", replicasettest.Orphan)}, nil},
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
		rs := replicasettest.ReplicaSet(1)
		rs.Name, rs.UID = name, uid
		rs.OwnerReferences = []metav1.OwnerReference{{UID: "deployment", Controller: &yes}}
		return rs
	}
	web := sibling("web", "rs")
	r := newReconciler(t, web, sibling("web-old", "old"))
	of := func(uid types.UID) replicasettest.Option {
		return func(p *corev1.Pod) { p.OwnerReferences[0].UID, p.OwnerReferences[0].Kind = uid, "ReplicaSet" }
	}
	surplus := []*corev1.Pod{
		replicasettest.Pod("p1", of("rs")), replicasettest.Pod("p2", of("old")), replicasettest.Pod("p3", of("stranger")),
		replicasettest.Pod("p4", of("rs"), replicasettest.Going), replicasettest.Pod("p5", of("rs"), replicasettest.On("")), replicasettest.Pod("p6", of("rs"), replicasettest.On("n2")),
	}
	for _, p := range surplus {
		r.ObservePod(loop.Event{Object: p})
	}
	in, err := r.gather(t.Context(), web)
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Crowd) != 2 || in.Crowd["n1"] != 2 || in.Crowd["n2"] != 1 {
		t.Errorf("Crowd = %v", in.Crowd)
	}
	if len(in.Active) != 3 {
		t.Errorf("%d pods are active, want 3", len(in.Active))
	}
}
