package decide

import (
	"container/heap"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/podset"
)

// Account holds the pods that one owner controls, or the pods of a namespace that have no
// controller, and counts them as they change, so that the cost of a decision depends only on the
// changes since the last one. Survey counts from scratch; both return the same.
//
// The first Look sets the owner's terms. Look with other terms, or with an earlier time than the
// last Look, counts all pods again.
type Account struct {
	podset.Owned[place]
	terms  *terms
	counts Counts
	// ripening has the ready pods that have yet to become available, the next one first.
	ripening ripening
	asOf     time.Time
}

type entry = podset.Entry[place]

// place is the state of a pod in an account.
type place struct {
	standing standing
	// due is the time at which a ripening pod becomes available, and at is its index in the
	// heap, or -1.
	due time.Time
	at  int
}

// NewAccount returns an empty account.
func NewAccount() *Account {
	a := &Account{}
	a.Owned = podset.New[place](a)
	return a
}

// Add implements podset.Sums.
func (a *Account) Add(_ types.NamespacedName, e *entry) {
	e.Status.at = -1
	e.Status.standing, e.Status.due = a.terms.judge(e.Pod)
	a.counts.add(e.Status.standing, 1)
	if !e.Status.due.IsZero() {
		heap.Push(&a.ripening, e)
	}
}

// Remove implements podset.Sums.
func (a *Account) Remove(_ types.NamespacedName, e *entry) {
	a.counts.add(e.Status.standing, -1)
	if e.Status.at >= 0 {
		heap.Remove(&a.ripening, e.Status.at)
	}
}

// Look summarizes the owner's pods for a decision. orphans holds the pods of its namespace
// that have no controller.
func (a *Account) Look(rs *appsv1.ReplicaSet, orphans *Account, now time.Time) (Pods, error) {
	if a.terms == nil || !a.terms.are(rs) || now.Before(a.asOf) {
		t, err := newTerms(rs)
		if err != nil {
			return Pods{}, err
		}
		a.terms, a.counts, a.ripening = t, Counts{}, nil
		a.Recount(t.selector)
	}
	a.ripen(now)
	found := Pods{Counts: a.counts}
	if len(a.ripening) > 0 {
		found.Ripens = a.ripening[0].Status.due
	}
	found.Adopt, found.Release = a.Claim(rs, &orphans.Owned)
	for _, pod := range found.Adopt {
		found.count(a.terms, pod, now)
	}
	return found, nil
}

// ripen counts the pods as available that have become so.
func (a *Account) ripen(now time.Time) {
	a.asOf = now
	for len(a.ripening) > 0 && !a.ripening[0].Status.due.After(now) {
		e := heap.Pop(&a.ripening).(*entry)
		a.counts.add(e.Status.standing, -1)
		e.Status.standing |= available
		a.counts.add(e.Status.standing, 1)
	}
}

// Active returns the active pods, including the active ones in found.Adopt.
func (a *Account) Active(found Pods) []*corev1.Pod {
	pods := a.Pods(func(e *entry) bool { return e.Status.standing&active != 0 })
	for _, pod := range found.Adopt {
		if controllerref.Active(pod) {
			pods = append(pods, pod)
		}
	}
	podset.SortByName(pods)
	return pods
}

// Crowd adds the number of active pods on each node.
func (a *Account) Crowd(crowd map[string]int) {
	for e := range a.All() {
		if controllerref.Active(e.Pod) && e.Pod.Spec.NodeName != "" {
			crowd[e.Pod.Spec.NodeName]++
		}
	}
}
