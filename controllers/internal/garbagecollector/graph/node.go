package graph

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Coordinates identify an object and where the API serves it. Namespace is empty for a
// cluster-scoped object.
type Coordinates struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
	UID        types.UID
}

// String returns the format of events and logs.
func (c Coordinates) String() string {
	return fmt.Sprintf("[%s/%s, namespace: %s, name: %s, uid: %s]", c.APIVersion, c.Kind, c.Namespace, c.Name, c.UID)
}

// OwnerAt returns the coordinates of an owner in a reference of an object in the namespace.
func OwnerAt(ref metav1.OwnerReference, namespace string) Coordinates {
	return Coordinates{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: namespace, Name: ref.Name, UID: ref.UID}
}

// Observation is the part of an object that the graph uses: its coordinates and the
// metadata that is relevant to garbage collection.
type Observation struct {
	Coordinates
	ResourceVersion string
	Owners          []metav1.OwnerReference
	// Deleting is true if the object has a deletionTimestamp.
	Deleting bool
	// Foreground and Orphan are true if it has the finalizer of that name.
	Foreground, Orphan bool
}

// Observe returns an observation of an object. The caller passes the kind, because typed
// objects from informers do not have it.
func Observe(apiVersion, kind string, object metav1.Object) Observation {
	finalizers := object.GetFinalizers()
	return Observation{
		Coordinates: Coordinates{
			APIVersion: apiVersion, Kind: kind,
			Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
		},
		ResourceVersion: object.GetResourceVersion(),
		Owners:          object.GetOwnerReferences(),
		Deleting:        object.GetDeletionTimestamp() != nil,
		Foreground:      slices.Contains(finalizers, metav1.FinalizerDeleteDependents),
		Orphan:          slices.Contains(finalizers, metav1.FinalizerOrphanDependents),
	}
}

// deletesDependents reports whether the object waits until its dependents are deleted.
func (o *Observation) deletesDependents() bool { return o.Deleting && o.Foreground }

// orphansDependents reports whether the object waits until its dependents are orphaned.
func (o *Observation) orphansDependents() bool { return o.Deleting && o.Orphan }

// references returns the object's reference to an owner.
func (o *Observation) references(owner types.UID) (metav1.OwnerReference, bool) {
	for _, ref := range o.Owners {
		if ref.UID == owner {
			return ref, true
		}
	}
	return metav1.OwnerReference{}, false
}

// blocks reports whether the object blocks the foreground deletion of its owner.
func (o *Observation) blocks(owner types.UID) bool {
	for _, ref := range o.Owners {
		if ref.UID == owner && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
			return true
		}
	}
	return false
}

// agrees reports whether the object's reference to the owner matches those coordinates: the
// same names, and a namespace that the object can refer to.
func (o *Observation) agrees(owner Coordinates) bool {
	if owner.Namespace != "" && owner.Namespace != o.Namespace {
		return false
	}
	for _, ref := range o.Owners {
		if ref.UID == owner.UID && ref.APIVersion == owner.APIVersion && ref.Kind == owner.Kind && ref.Name == owner.Name {
			return true
		}
	}
	return false
}

// node is an object in the graph. A node that is not seen is virtual: it is known only from
// references to it, which also supply its coordinates.
type node struct {
	Observation
	seen       bool
	dependents map[types.UID]dependent
	// blockers is the number of dependents that block.
	blockers int
}

// dependent is an object that refers to an owner.
type dependent struct {
	*node
	// blocks is true if it blocks the owner's foreground deletion.
	blocks bool
}

// attach makes d a dependent of the node, or records whether it blocks now.
func (n *node) attach(d *node) {
	n.detach(d.UID)
	blocks := d.blocks(n.UID)
	n.dependents[d.UID] = dependent{d, blocks}
	if blocks {
		n.blockers++
	}
}

// detach removes a dependent.
func (n *node) detach(uid types.UID) {
	if n.dependents[uid].blocks {
		n.blockers--
	}
	delete(n.dependents, uid)
}

// blocked reports whether any dependent blocks the node's foreground deletion.
func (n *node) blocked() bool { return n.blockers > 0 }

func sameOwners(a, b []metav1.OwnerReference) bool {
	return slices.EqualFunc(a, b, func(x, y metav1.OwnerReference) bool {
		return x.UID == y.UID && x.Name == y.Name && x.Kind == y.Kind && x.APIVersion == y.APIVersion &&
			isTrue(x.BlockOwnerDeletion) == isTrue(y.BlockOwnerDeletion) && isTrue(x.Controller) == isTrue(y.Controller)
	})
}

func isTrue(b *bool) bool { return b != nil && *b }
