package graph

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Graph is the graph of owners and dependents in the cluster, as observed so far. It does
// no I/O and is not safe for concurrent use.
//
// Each method that feeds it returns the UIDs of the objects whose action may have changed.
// The caller processes each of them (View, then Decide), in any order and any number of
// times.
type Graph struct {
	nodes  map[types.UID]*node
	absent *absentOwners
}

// New returns an empty graph.
func New() *Graph {
	return &Graph{nodes: map[types.UID]*node{}, absent: newAbsentOwners()}
}

// Changes are the consequences of an observation.
type Changes struct {
	// Wake are the objects to process.
	Wake []types.UID
	// Invalid are newly found references to a namespaced owner in another namespace.
	Invalid []InvalidOwner
}

// InvalidOwner is an invalid reference: the owner is in another namespace than the object
// that refers to it.
type InvalidOwner struct {
	Dependent       Coordinates
	ResourceVersion string
	Owner           Coordinates
}

func (c *Changes) wake(uid types.UID) { c.Wake = append(c.Wake, uid) }

func (c *Changes) wakeDependents(n *node) {
	start := len(c.Wake)
	for uid := range n.dependents {
		c.Wake = append(c.Wake, uid)
	}
	slices.Sort(c.Wake[start:]) // for the same order in every run
}

// Seen records an object that an informer added or updated. If nothing relevant has
// changed, it costs a comparison and returns no changes.
func (g *Graph) Seen(o Observation) Changes {
	var changes Changes
	n, known := g.nodes[o.UID]
	if !known {
		n = &node{Observation: Observation{Coordinates: o.Coordinates}, dependents: map[types.UID]dependent{}}
		g.nodes[o.UID] = n
	}
	if n.seen && n.ResourceVersion == o.ResourceVersion {
		return changes
	}
	if !n.seen {
		g.becomeReal(n, o.Coordinates, &changes)
	}
	n.ResourceVersion = o.ResourceVersion
	if !sameOwners(n.Owners, o.Owners) {
		g.changeOwners(n, o.Owners, &changes)
	}
	g.transition(n, o, &changes)
	return changes
}

// becomeReal corrects the coordinates of a virtual node. It wakes dependents that refer to
// other coordinates with the same UID.
func (g *Graph) becomeReal(n *node, c Coordinates, changes *Changes) {
	n.seen = true
	n.Coordinates = c
	for _, uid := range sortedUIDs(n.dependents) {
		dependent := n.dependents[uid]
		if dependent.agrees(c) {
			continue
		}
		if c.Namespace != "" && c.Namespace != dependent.Namespace {
			changes.Invalid = append(changes.Invalid, invalidOwner(dependent.node, n.UID))
		}
		changes.wake(uid)
	}
}

// transition updates the deletion state. The start of a foreground deletion wakes the dependents
// and the object, the start of an orphaning deletion only the object.
func (g *Graph) transition(n *node, o Observation, changes *Changes) {
	wasDeletingDependents, wasOrphaning := n.deletesDependents(), n.orphansDependents()
	n.Deleting, n.Foreground, n.Orphan = o.Deleting, o.Foreground, o.Orphan
	if n.deletesDependents() && !wasDeletingDependents {
		changes.wakeDependents(n)
		changes.wake(n.UID)
	}
	if n.orphansDependents() && !wasOrphaning {
		changes.wake(n.UID)
	}
}

func (g *Graph) changeOwners(n *node, owners []metav1.OwnerReference, changes *Changes) {
	before := Observation{Owners: n.Owners}
	n.Owners = owners
	for _, ref := range before.Owners {
		owner, known := g.nodes[ref.UID]
		if !known {
			continue
		}
		if _, still := n.references(ref.UID); still {
			owner.attach(n)
		} else {
			owner.detach(n.UID)
			g.dropIfUnused(owner)
		}
		if before.blocks(ref.UID) && !n.blocks(ref.UID) {
			g.wakeUnblocked(owner, changes)
		}
	}
	suspect := false
	for _, ref := range owners {
		if _, had := before.references(ref.UID); !had {
			suspect = g.link(n, ref, changes) || suspect
		}
	}
	if suspect {
		changes.wake(n.UID)
	}
}

// link makes n a dependent of the owner that it refers to. It reports whether n has to be
// processed, because the reference may be wrong or the owner is being deleted.
func (g *Graph) link(n *node, ref metav1.OwnerReference, changes *Changes) (suspect bool) {
	owner, known := g.nodes[ref.UID]
	if !known {
		// A look-up has to confirm that the owner is absent before n may be deleted.
		owner = &node{Observation: Observation{Coordinates: OwnerAt(ref, n.Namespace)}, dependents: map[types.UID]dependent{}}
		g.nodes[ref.UID] = owner
		owner.attach(n)
		changes.wake(ref.UID)
		return false
	}
	owner.attach(n)
	switch {
	case owner.Namespace != "" && owner.Namespace != n.Namespace:
		if owner.seen {
			changes.Invalid = append(changes.Invalid, invalidOwner(n, ref.UID))
		}
		return true
	case OwnerAt(ref, owner.Namespace) != owner.Coordinates:
		return true
	case owner.deletesDependents():
		return true // n was added after the other dependents were woken
	case owner.orphansDependents():
		changes.wake(owner.UID)
	}
	return false
}

func invalidOwner(n *node, owner types.UID) InvalidOwner {
	ref, _ := n.references(owner)
	return InvalidOwner{Dependent: n.Coordinates, ResourceVersion: n.ResourceVersion, Owner: OwnerAt(ref, n.Namespace)}
}

// Gone records that an informer observed the deletion of the object.
func (g *Graph) Gone(uid types.UID) Changes {
	var changes Changes
	if n, known := g.nodes[uid]; known && n.seen {
		g.remove(n, &changes)
	}
	return changes
}

// remove removes the node. Its dependents may be garbage now, and owners in foreground
// deletion may be unblocked.
func (g *Graph) remove(n *node, changes *Changes) {
	delete(g.nodes, n.UID)
	if len(n.dependents) > 0 {
		g.absent.add(n.Coordinates)
	}
	changes.wakeDependents(n)
	for _, ref := range n.Owners {
		owner, known := g.nodes[ref.UID]
		if !known {
			continue
		}
		owner.detach(n.UID)
		g.wakeUnblocked(owner, changes)
		g.dropIfUnused(owner)
	}
}

// wakeUnblocked wakes an owner in foreground deletion when its last blocking dependent is
// gone. Waking it for each dependent would be quadratic.
func (g *Graph) wakeUnblocked(owner *node, changes *Changes) {
	if owner.deletesDependents() && !owner.blocked() {
		changes.wake(owner.UID)
	}
}

// dropIfUnused removes a virtual node without dependents.
func (g *Graph) dropIfUnused(n *node) {
	if !n.seen && len(n.dependents) == 0 {
		delete(g.nodes, n.UID)
	}
}

// Absent records that a look-up found no object with that UID at those coordinates.
//
// Dependents can disagree about the coordinates of one UID (only a mistaken or malicious
// reference does), so the absence counts only for the dependents that agree. A virtual node then
// takes the coordinates that the others refer to, which are looked up next.
func (g *Graph) Absent(c Coordinates) Changes {
	var changes Changes
	n, known := g.nodes[c.UID]
	if !known {
		g.absent.add(c)
		return changes
	}
	if n.seen && n.Coordinates == c {
		g.remove(n, &changes)
		return changes
	}
	var agreeing, others []types.UID
	for _, uid := range sortedUIDs(n.dependents) {
		if n.dependents[uid].agrees(c) {
			agreeing = append(agreeing, uid)
		} else {
			others = append(others, uid)
		}
	}
	if !n.seen && len(others) == 0 {
		g.absent.add(c)
		g.remove(n, &changes)
		return changes
	}
	if len(agreeing) > 0 {
		g.absent.add(c)
		changes.Wake = append(changes.Wake, agreeing...)
	}
	if !n.seen && n.Coordinates == c {
		g.moveVirtual(n, others, &changes)
	}
	return changes
}

// moveVirtual gives a virtual node the coordinates in the first dependent's reference that
// has not been found absent yet.
func (g *Graph) moveVirtual(n *node, dependents []types.UID, changes *Changes) {
	for _, uid := range dependents {
		dependent := n.dependents[uid]
		ref, _ := dependent.references(n.UID)
		next := OwnerAt(ref, dependent.Namespace)
		if next != n.Coordinates && !g.absent.has(next) {
			n.Coordinates = next
			changes.wake(n.UID)
			return
		}
	}
}

// Unwatched records that an object is no longer observed, because its kind is not watched
// now. The object may still exist.
func (g *Graph) Unwatched(uid types.UID) Changes {
	var changes Changes
	n, known := g.nodes[uid]
	if !known || !n.seen {
		return changes
	}
	g.changeOwners(n, nil, &changes)
	n.Observation = Observation{Coordinates: n.Coordinates}
	n.seen = false
	g.dropIfUnused(n)
	return changes
}

// LookedUp records whether the kind of a virtual node is cluster-scoped, in which case its
// coordinates have no namespace.
func (g *Graph) LookedUp(uid types.UID, clusterScoped bool) {
	if n, known := g.nodes[uid]; known && !n.seen && clusterScoped {
		n.Namespace = ""
	}
}

// Len returns the number of objects in the graph, including virtual ones.
func (g *Graph) Len() int { return len(g.nodes) }

func sortedUIDs(nodes map[types.UID]dependent) []types.UID {
	uids := make([]types.UID, 0, len(nodes))
	for uid := range nodes {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	return uids
}
