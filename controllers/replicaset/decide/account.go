package decide

import (
	"container/heap"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/controllerref"
)

// Account holds the pods that one owner controls, or those of a namespace that have no
// controller, and counts them as they change, so that a decision costs what has changed
// since the last one. Survey counts from scratch; both return the same.
//
// The first Look sets the owner's terms. Look with other terms, or with a time before that of
// the last one, counts all pods again.
type Account struct {
	pods  map[types.NamespacedName]*entry
	terms *terms
	// counts is of the entries with their standing, and excess has those that are controlled
	// and not selected.
	counts Counts
	excess map[types.NamespacedName]*entry
	// ripening has the ready pods that have yet to become available, the next one first.
	ripening ripening
	asOf     time.Time
	// edition changes with the labels of the pods, and with what else decides about their
	// adoption.
	edition int
	// checked is the account of orphans of which, at that edition, the owner adopts none.
	checked struct {
		orphans *Account
		edition int
	}
}

// entry is a pod of an account.
type entry struct {
	pod      *corev1.Pod
	standing standing
	// due is the time at which a ripening pod becomes available, and place is its index in
	// the heap, or -1.
	due   time.Time
	place int
}

// NewAccount returns an empty account.
func NewAccount() *Account {
	return &Account{pods: map[types.NamespacedName]*entry{}, excess: map[types.NamespacedName]*entry{}}
}

// Len returns the number of pods.
func (a *Account) Len() int { return len(a.pods) }

func keyOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// Set adds a pod, or replaces its earlier state.
func (a *Account) Set(pod *corev1.Pod) {
	key := keyOf(pod)
	e, known := a.pods[key]
	if !known {
		e = &entry{place: -1}
		a.pods[key] = e
	}
	if !known || !sameForAdoption(e.pod, pod) {
		a.edition++
	}
	a.remove(key, e)
	e.pod = pod
	a.add(key, e)
}

// Unset removes a pod.
func (a *Account) Unset(key types.NamespacedName) {
	if e, ok := a.pods[key]; ok {
		a.remove(key, e)
		delete(a.pods, key)
		a.edition++
	}
}

// add counts an entry, unless the account has no terms yet.
func (a *Account) add(key types.NamespacedName, e *entry) {
	if a.terms == nil {
		return
	}
	e.standing, e.due = a.terms.judge(e.pod)
	a.counts.add(e.standing, 1)
	if e.standing&selected == 0 {
		a.excess[key] = e
	}
	if !e.due.IsZero() {
		heap.Push(&a.ripening, e)
	}
}

// remove reverses add.
func (a *Account) remove(key types.NamespacedName, e *entry) {
	if a.terms == nil {
		return
	}
	a.counts.add(e.standing, -1)
	delete(a.excess, key)
	if e.place >= 0 {
		heap.Remove(&a.ripening, e.place)
	}
	e.standing, e.due = 0, time.Time{}
}

// Look returns what a decision about the owner reads. orphans holds the pods of its namespace
// that have no controller.
func (a *Account) Look(rs *appsv1.ReplicaSet, orphans *Account, now time.Time) (Pods, error) {
	if a.terms == nil || !a.terms.are(rs) || now.Before(a.asOf) {
		t, err := newTerms(rs)
		if err != nil {
			return Pods{}, err
		}
		a.recount(t)
	}
	a.ripen(now)
	found := Pods{Counts: a.counts}
	if len(a.ripening) > 0 {
		found.Ripens = a.ripening[0].due
	}
	if rs.DeletionTimestamp != nil {
		return found, nil // it neither adopts nor releases pods
	}
	for _, e := range a.excess {
		found.Release = append(found.Release, e.pod)
	}
	for _, pod := range a.adoptable(rs, orphans) {
		found.Adopt = append(found.Adopt, pod)
		found.count(a.terms, pod, now)
	}
	sortByName(found.Release)
	sortByName(found.Adopt)
	return found, nil
}

// recount counts all pods by other terms.
func (a *Account) recount(t *terms) {
	a.terms, a.counts, a.ripening = t, Counts{}, nil
	a.checked.orphans = nil
	clear(a.excess)
	for key, e := range a.pods {
		e.place = -1
		a.add(key, e)
	}
}

// ripen counts the pods as available that have become so.
func (a *Account) ripen(now time.Time) {
	a.asOf = now
	for len(a.ripening) > 0 && !a.ripening[0].due.After(now) {
		e := heap.Pop(&a.ripening).(*entry)
		a.counts.add(e.standing, -1)
		e.standing |= available
		a.counts.add(e.standing, 1)
	}
}

// adoptable returns the orphans that the owner adopts. While none of them changes, it does
// not look at them again.
func (a *Account) adoptable(rs *appsv1.ReplicaSet, orphans *Account) []*corev1.Pod {
	if a.checked.orphans == orphans && a.checked.edition == orphans.edition {
		return nil
	}
	var found []*corev1.Pod
	for _, e := range orphans.pods {
		if a.terms.adopts(rs, e.pod) {
			found = append(found, e.pod)
		}
	}
	if len(found) == 0 {
		a.checked.orphans, a.checked.edition = orphans, orphans.edition
	}
	return found
}

// Active returns the active pods, and those of them that are to be adopted.
func (a *Account) Active(found Pods) []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, found.Counts.Active)
	for _, e := range a.pods {
		if e.standing&active != 0 {
			pods = append(pods, e.pod)
		}
	}
	for _, pod := range found.Adopt {
		if controllerref.Active(pod) {
			pods = append(pods, pod)
		}
	}
	sortByName(pods)
	return pods
}

// Crowd adds the number of active pods on each node.
func (a *Account) Crowd(crowd map[string]int) {
	for _, e := range a.pods {
		if controllerref.Active(e.pod) && e.pod.Spec.NodeName != "" {
			crowd[e.pod.Spec.NodeName]++
		}
	}
}

// sameForAdoption reports whether two states of an orphan are adopted by the same owners.
func sameForAdoption(a, b *corev1.Pod) bool {
	return a.UID == b.UID && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) && maps.Equal(a.Labels, b.Labels)
}
