package writerecord

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Owner is the controller owner of an object that was written.
type Owner struct {
	Kind string    `json:"kind"`
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}

// Relation is how the object of an inferred cause is related to the written one.
type Relation string

// The relations.
const (
	// ItsOwner: the cause's object is the controller owner of the written one.
	ItsOwner Relation = "owner"
	// Itself: it is the written object. SameOwner: it has the same controller owner.
	Itself    Relation = "itself"
	SameOwner Relation = "sameOwner"
	// ItsPart: the written object is its controller owner.
	ItsPart Relation = "part"
)

// ownerOf returns the controller owner of an object that a program outside the cluster
// wrote without causes; inference needs it. For other writes it returns nil.
func (w *Write) ownerOf(obj runtime.Object) *Owner {
	if len(w.Causes) > 0 || w.own() {
		return nil
	}
	return controllerOf(obj)
}

// controllerOf returns the controller owner of an object, which may be nil.
func controllerOf(obj runtime.Object) *Owner {
	if obj == nil {
		return nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	ref := metav1.GetControllerOfNoCopy(m)
	if ref == nil {
		return nil
	}
	return &Owner{Kind: ref.Kind, Name: ref.Name, UID: ref.UID}
}

// inference finds the probable causes of writes without recorded ones. An operator
// outside the cluster sends no causes with its writes, so it is not known which event
// triggered them. Inference proposes the newest earlier write, by another client, to the
// objects that such a program most likely watches:
//
//   - the owner of the object, the object itself and the owner's other objects, if
//     more than a status changed: the desired state, or the disturbance, that the
//     program reacts to;
//   - for a status, also any write to the objects that the written one owns.
//
// The result is shown as probable, never as recorded. There is no inference for tools
// that people and scripts use, or for a program that does not act as a controller: a test
// that deletes a ReplicaSet's pod does not do so because the ReplicaSet was created.
type inference struct {
	writes []Write
	// of has the indices of each object's writes, parts the objects of each owner.
	of    map[types.UID][]int
	parts map[types.UID][]types.UID
	// controls has the clients that created objects of an owner, or that wrote an
	// object's status or finalizers.
	controls map[role]bool
}

// role is a client in the role of an object's controller.
type role struct {
	userAgent, actor string
	of               types.UID
}

func newInference(writes []Write) *inference {
	in := &inference{
		writes: writes, of: map[types.UID][]int{}, parts: map[types.UID][]types.UID{}, controls: map[role]bool{},
	}
	known := map[[2]types.UID]bool{}
	for i := range writes {
		w := &writes[i]
		in.of[w.UID] = append(in.of[w.UID], i)
		if w.Controller != nil && !known[[2]types.UID{w.Controller.UID, w.UID}] {
			known[[2]types.UID{w.Controller.UID, w.UID}] = true
			in.parts[w.Controller.UID] = append(in.parts[w.Controller.UID], w.UID)
		}
		if w.Controller != nil && w.Effect == Created {
			in.controls[w.as(w.Controller.UID)] = true
		}
		if w.Subresource == "status" || w.changes("metadata.finalizers") {
			in.controls[w.as(w.UID)] = true
		}
	}
	return in
}

func (w *Write) as(of types.UID) role { return role{w.UserAgent, w.Actor, of} }

func (w *Write) changes(path string) bool {
	return slices.ContainsFunc(w.Changes, func(c Change) bool { return c.Path == path })
}

// asOwner reports whether the client that wrote acts as the owner's controller.
func (in *inference) asOwner(w *Write) bool {
	return w.Controller != nil && !w.byHand() && in.controls[w.as(w.Controller.UID)]
}

// cause returns the index of the write that probably caused w; -1: none.
func (in *inference) cause(w *Write) (cause int, relation Relation) {
	cause = -1
	if len(w.Causes) > 0 || w.own() || w.byHand() {
		return cause, ""
	}
	consider := func(uid types.UID, r Relation, fits func(*Write) bool) {
		for _, i := range in.of[uid] {
			c := &in.writes[i]
			if c.Revision < w.Revision && (cause < 0 || c.Revision > in.writes[cause].Revision) && fits(c) {
				cause, relation = i, r
			}
		}
	}
	desired := func(c *Write) bool { return c.as("") != w.as("") && c.changesDesired() }
	asOwner := in.asOwner(w)
	if asOwner || in.controls[w.as(w.UID)] {
		consider(w.UID, Itself, desired)
	}
	if asOwner {
		owner := w.Controller.UID
		consider(owner, ItsOwner, desired)
		for _, sibling := range in.parts[owner] {
			if sibling != w.UID {
				consider(sibling, SameOwner, desired)
			}
		}
		if cause < 0 { // a test's client and its operator may be in one program
			consider(owner, ItsOwner, (*Write).changesDesired)
		}
	}
	if w.Subresource == "status" {
		for _, part := range in.parts[w.UID] {
			consider(part, ItsPart, func(c *Write) bool { return c.as("") != w.as("") && c.hasEffect() })
		}
	}
	return cause, relation
}

// hasEffect reports whether the write did more than touch its object.
func (w *Write) hasEffect() bool { return w.Effect != Changed || len(w.Changes) > 0 }

// changesDesired reports whether the write created or deleted the object, or changed its
// desired state: not only its status, nor the metadata that components of the cluster
// set.
func (w *Write) changesDesired() bool {
	if w.Effect != Changed || w.marks() {
		return true
	}
	own := w.own()
	return slices.ContainsFunc(w.Changes, func(c Change) bool {
		field, _, _ := strings.Cut(c.Path, ".")
		return field != "status" && (field != "metadata" || !own)
	})
}
