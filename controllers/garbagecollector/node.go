package garbagecollector

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Coordinates say which object is meant and where the API has it. Namespace is
// empty for a cluster-scoped object.
type Coordinates struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
	UID        types.UID
}

// String is how events and logs print an object.
func (c Coordinates) String() string {
	return fmt.Sprintf("[%s/%s, namespace: %s, name: %s, uid: %s]", c.APIVersion, c.Kind, c.Namespace, c.Name, c.UID)
}

// ownerAt returns the coordinates that a reference made from within a namespace
// gives to its owner.
func ownerAt(ref metav1.OwnerReference, namespace string) Coordinates {
	return Coordinates{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: namespace, Name: ref.Name, UID: ref.UID}
}

// Observation is what the graph needs to know of an object: its coordinates and
// the part of its metadata that matters to garbage collection.
type Observation struct {
	Coordinates
	ResourceVersion string
	Owners          []metav1.OwnerReference
	// Deleting says that the object has a deletionTimestamp.
	Deleting bool
	// Foreground and Orphan say that it has the finalizer of that name.
	Foreground, Orphan bool
}

// Observe reads an observation off an object's metadata. A typed object from an
// informer has no kind of its own, so that the caller gives it.
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

// deletesDependents reports whether the object waits for its dependents to go.
func (o *Observation) deletesDependents() bool { return o.Deleting && o.Foreground }

// orphansDependents reports whether the object waits for its dependents to be orphaned.
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

// blocks reports whether the object holds back its owner's foreground deletion.
func (o *Observation) blocks(owner types.UID) bool {
	for _, ref := range o.Owners {
		if ref.UID == owner && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
			return true
		}
	}
	return false
}

// agrees reports whether the object's reference to the owner means the object at
// those coordinates: the same names, and reachable from the object's namespace.
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

// node is an object in the graph. A node that is not seen is virtual: it is known
// only from references to it, and its coordinates are the referrer's word.
type node struct {
	Observation
	seen       bool
	dependents map[types.UID]*node
}

// blockers reports whether any dependent holds back the node's foreground deletion.
func (n *node) blocked() bool {
	for _, dependent := range n.dependents {
		if dependent.blocks(n.UID) {
			return true
		}
	}
	return false
}

func sameOwners(a, b []metav1.OwnerReference) bool {
	return slices.EqualFunc(a, b, func(x, y metav1.OwnerReference) bool {
		return x.UID == y.UID && x.Name == y.Name && x.Kind == y.Kind && x.APIVersion == y.APIVersion &&
			isTrue(x.BlockOwnerDeletion) == isTrue(y.BlockOwnerDeletion) && isTrue(x.Controller) == isTrue(y.Controller)
	})
}

func isTrue(b *bool) bool { return b != nil && *b }
