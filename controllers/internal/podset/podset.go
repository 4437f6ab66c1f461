package podset

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Sums adds up the selected pods of an account, whose standings are of type S.
type Sums[S any] interface {
	// Add adds a pod and sets its standing.
	Add(key types.NamespacedName, e *Entry[S])
	// Remove reverses Add. The standing is still that which Add has set.
	Remove(key types.NamespacedName, e *Entry[S])
}

// Entry is a pod of an account.
type Entry[S any] struct {
	Pod *corev1.Pod
	// Status is the pod's contribution to the sums. It is the zero value unless the
	// pod is selected.
	Status   S
	selected bool
}

// Owned are the pods that one owner controls, or the pods of a namespace that have no
// controller. Until the first Recount it has no selector and selects no pods.
type Owned[S any] struct {
	sums     Sums[S]
	selector labels.Selector
	entries  map[types.NamespacedName]*Entry[S]
	// excess has the entries that the selector does not match.
	excess map[types.NamespacedName]*Entry[S]
	// edition changes with every input of the decision to adopt the pods.
	edition int
	// checked has orphans and the edition at which the owner adopts none of them.
	checked struct {
		orphans *Owned[S]
		edition int
	}
}

// New returns an empty set of pods, of which the selected ones are added to sums.
func New[S any](sums Sums[S]) Owned[S] {
	return Owned[S]{sums: sums, entries: map[types.NamespacedName]*Entry[S]{}, excess: map[types.NamespacedName]*Entry[S]{}}
}

// Len returns the number of pods.
func (h *Owned[S]) Len() int { return len(h.entries) }

// Set adds a pod, or replaces its earlier state.
func (h *Owned[S]) Set(pod *corev1.Pod) {
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	e, known := h.entries[key]
	if !known {
		e = &Entry[S]{}
		h.entries[key] = e
	}
	if !known || !sameForAdoption(e.Pod, pod) {
		h.edition++
	}
	h.remove(key, e)
	e.Pod = pod
	h.add(key, e)
}

// Unset removes a pod.
func (h *Owned[S]) Unset(key types.NamespacedName) {
	if e, ok := h.entries[key]; ok {
		h.remove(key, e)
		delete(h.entries, key)
		h.edition++
	}
}

func (h *Owned[S]) add(key types.NamespacedName, e *Entry[S]) {
	switch {
	case h.selector == nil:
	case h.selector.Matches(labels.Set(e.Pod.Labels)):
		e.selected = true
		h.sums.Add(key, e)
	default:
		h.excess[key] = e
	}
}

func (h *Owned[S]) remove(key types.NamespacedName, e *Entry[S]) {
	if e.selected {
		h.sums.Remove(key, e)
	}
	h.unselect(e)
	delete(h.excess, key)
}

func (h *Owned[S]) unselect(e *Entry[S]) {
	var none S
	e.Status, e.selected = none, false
}

// Recount selects the pods by another selector, or adds up the same pods again. The caller
// has reset the sums to zero.
func (h *Owned[S]) Recount(selector labels.Selector) {
	h.selector, h.checked.orphans = selector, nil
	clear(h.excess)
	for key, e := range h.entries {
		h.unselect(e)
		h.add(key, e)
	}
}

// All returns all entries, in no order.
func (h *Owned[S]) All() iter.Seq[*Entry[S]] { return maps.Values(h.entries) }

// Pods returns the selected pods with the property, sorted by name.
func (h *Owned[S]) Pods(has func(e *Entry[S]) bool) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, e := range h.entries {
		if e.selected && has(e) {
			pods = append(pods, e.Pod)
		}
	}
	SortByName(pods)
	return pods
}

// Claim returns the orphans that the owner adopts, and the pods that it releases. Both are
// sorted by name. An owner that is being deleted neither adopts nor releases pods. While no
// orphan changes, Claim does not look at them again.
func (h *Owned[S]) Claim(owner metav1.Object, orphans *Owned[S]) (adopt, release []*corev1.Pod) {
	if owner.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	for _, e := range h.excess {
		release = append(release, e.Pod)
	}
	SortByName(release)
	if h.checked.orphans == orphans && h.checked.edition == orphans.edition {
		return nil, release
	}
	for _, e := range orphans.entries {
		if e.Pod.Namespace == owner.GetNamespace() && e.Pod.DeletionTimestamp == nil && h.selector.Matches(labels.Set(e.Pod.Labels)) {
			adopt = append(adopt, e.Pod)
		}
	}
	if len(adopt) == 0 {
		h.checked.orphans, h.checked.edition = orphans, orphans.edition
	}
	SortByName(adopt)
	return adopt, release
}

// sameForAdoption reports whether two states of an orphan are adopted by the same owners.
func sameForAdoption(a, b *corev1.Pod) bool {
	return a.UID == b.UID && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) && maps.Equal(a.Labels, b.Labels)
}

// SortByName sorts pods by namespace and name.
func SortByName(pods []*corev1.Pod) {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}
