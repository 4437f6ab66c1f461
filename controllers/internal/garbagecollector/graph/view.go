package graph

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// OwnerState is the known state of an owner that an object refers to.
type OwnerState int

const (
	// OwnerUnknown: the API has to be asked.
	OwnerUnknown OwnerState = iota
	// OwnerExists: the owner exists and keeps its dependents.
	OwnerExists
	// OwnerAbsent: the owner does not exist.
	OwnerAbsent
	// OwnerWaits: the owner is in foreground deletion, and waits until its dependents are
	// deleted.
	OwnerWaits
	// OwnerInvalid: a cluster-scoped object refers to a namespaced owner, which cannot be
	// looked up.
	OwnerInvalid
)

// StateOf returns the state of an owner that the API has returned.
func StateOf(owner *metav1.PartialObjectMetadata) OwnerState {
	o := Observe("", "", owner)
	if o.deletesDependents() {
		return OwnerWaits
	}
	return OwnerExists
}

// View is a snapshot of one object in the graph.
type View struct {
	Observation
	// Seen is true if an informer has observed the object; else it is known only from
	// references to it.
	Seen bool
	// States are the states of Owners, in the same order. An owner in the state OwnerAbsent
	// or OwnerWaits never returns to OwnerExists.
	States []OwnerState
	// HasDependents is true if an object refers to this one.
	HasDependents bool
	// Blocked is true if a dependent blocks the object's foreground deletion.
	Blocked bool
	// InCircle is true if the object waits for itself: it blocks an owner in foreground
	// deletion, which blocks another, and so on back to the object.
	InCircle bool
}

// View returns a snapshot of the object; false if the graph does not have the object.
func (g *Graph) View(uid types.UID) (View, bool) {
	n, known := g.nodes[uid]
	if !known {
		return View{}, false
	}
	v := View{Observation: n.Observation, Seen: n.seen, HasDependents: len(n.dependents) > 0}
	if n.deletesDependents() {
		v.Blocked = n.blocked()
		v.InCircle = v.Blocked && g.inCircle(n)
	}
	v.States = make([]OwnerState, len(n.Owners))
	for i, ref := range n.Owners {
		at := OwnerAt(ref, n.Namespace)
		atClusterScope := at
		atClusterScope.Namespace = ""
		owner, known := g.nodes[ref.UID]
		switch {
		case g.absent.has(at) || g.absent.has(atClusterScope):
			v.States[i] = OwnerAbsent
		case known && owner.seen && owner.deletesDependents() && n.agrees(owner.Coordinates):
			v.States[i] = OwnerWaits
		}
	}
	return v, true
}

// inCircle follows blocking references upwards through owners that wait, and reports
// whether they lead back to n.
func (g *Graph) inCircle(n *node) bool {
	visited := map[types.UID]bool{}
	next := []*node{n}
	for len(next) > 0 {
		current := next[len(next)-1]
		next = next[:len(next)-1]
		for _, ref := range current.Owners {
			owner, known := g.nodes[ref.UID]
			if !known || !owner.deletesDependents() || !isTrue(ref.BlockOwnerDeletion) {
				continue
			}
			if owner == n {
				return true
			}
			if !visited[ref.UID] {
				visited[ref.UID] = true
				next = append(next, owner)
			}
		}
	}
	return false
}

// Dependents returns the objects that refer to this one, sorted by name.
func (g *Graph) Dependents(uid types.UID) []Coordinates {
	n, known := g.nodes[uid]
	if !known {
		return nil
	}
	all := make([]Coordinates, 0, len(n.dependents))
	for _, dependent := range n.dependents {
		all = append(all, dependent.Coordinates)
	}
	slices.SortFunc(all, func(a, b Coordinates) int { return strings.Compare(a.String(), b.String()) })
	return all
}
