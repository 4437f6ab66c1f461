package tainteviction

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Eviction is what has been decided of a pod before.
type Eviction struct {
	// Since is when the pod was first seen on the tainted node, and Due when it goes.
	Since, Due time.Time
}

// Verb is what is to be done about a pod.
type Verb int

// What can be done about a pod.
const (
	// Leave the pod alone.
	Leave Verb = iota
	// Wait until the eviction is due.
	Wait
	// Cancel the eviction that was decided.
	Cancel
	// Evict the pod now.
	Evict
)

func (v Verb) String() string { return [...]string{"leave", "wait", "cancel", "evict"}[v] }

// Decision is what is to be done about a pod. Eviction is what Wait waits for.
type Decision struct {
	Verb     Verb
	Eviction Eviction
}

// Decide says what is to be done about a pod with the tolerations on a node with the
// NoExecute taints. known is what was decided before; nil: nothing.
func Decide(tolerations []corev1.Toleration, taints []corev1.Taint, known *Eviction, now time.Time) Decision {
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
