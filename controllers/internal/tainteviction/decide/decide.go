package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Eviction is an earlier decision about a pod.
type Eviction struct {
	// Since is when the pod was first observed on the tainted node, and Due the time of its
	// eviction.
	Since, Due time.Time
}

// Verb is the action for a pod.
type Verb int

// The actions.
const (
	// Leave does nothing.
	Leave Verb = iota
	// Wait schedules the eviction.
	Wait
	// Cancel cancels the scheduled eviction.
	Cancel
	// Evict evicts the pod now.
	Evict
)

// String returns the verb in the words of tests and logs.
func (v Verb) String() string { return [...]string{"leave", "wait", "cancel", "evict"}[v] }

// Decision is the decision about a pod. Eviction is set for Wait.
type Decision struct {
	Verb     Verb
	Eviction Eviction
}

// Pod returns the decision about a pod with the tolerations on a node with the NoExecute
// taints. known is the earlier decision; nil if there is none.
func Pod(tolerations []corev1.Toleration, taints []corev1.Taint, known *Eviction, now time.Time) Decision {
	if len(taints) == 0 {
		return unlessKnown(known)
	}
	stay, forever, tolerated := longest(tolerations, taints)
	switch {
	case !tolerated:
		return Decision{Verb: Evict}
	case forever:
		return unlessKnown(known)
	}
	eviction := Eviction{Since: now, Due: now.Add(stay)}
	if known != nil && !known.Since.After(now) {
		eviction = *known
	}
	if !now.Before(eviction.Due) {
		return Decision{Verb: Evict}
	}
	return Decision{Verb: Wait, Eviction: eviction}
}

func unlessKnown(known *Eviction) Decision {
	if known != nil {
		return Decision{Verb: Cancel}
	}
	return Decision{}
}
