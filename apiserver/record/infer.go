package record

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

// Relation says how the object of an inferred cause relates to the one that was written.
type Relation string

// The relations.
const (
	// ItsOwner is the controller owner of what was written.
	ItsOwner Relation = "owner"
	// Itself is the object that was written, and SameOwner one of the same owner.
	Itself    Relation = "itself"
	SameOwner Relation = "sameOwner"
	// ItsPart has what was written as its controller owner.
	ItsPart Relation = "part"
)

// ownerOf is what an inference needs to know of a write: the controller owner of what a
// program outside the cluster wrote without causes.
func (w *Write) ownerOf(obj runtime.Object) *Owner {
	if len(w.Causes) > 0 || obj == nil || w.own() {
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

// An operator outside the cluster sends no causes with its writes: nothing knows which
// event woke it. Inference proposes the newest earlier write, by another client, of what
// such a program most likely watches:
//
//   - the owner of the object, the object itself and the owner's other objects, as far as
//     more than a status changed: the wish, or the disturbance that it answers;
//   - for a status, also whatever became of the objects that the written one owns.
//
// It is shown as probable, never as recorded. Nothing is inferred for what people and
// scripts write by hand, nor for a program that does not act as a controller: a test that
// deletes a ReplicaSet's pod does not do so because the ReplicaSet was made.
type inference struct {
	writes []Write
	// of has the indices of each object's writes, and parts the objects of each owner.
	of    map[types.UID][]int
	parts map[types.UID][]types.UID
	// controls has who made objects of an owner, and who writes an object's status or
	// finalizers.
	controls map[role]bool
}

// role is a client as the controller of an object.
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

// cause is the index of the write that probably caused one; -1: none.
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
	wish := func(c *Write) bool { return c.as("") != w.as("") && c.wishes() }
	asOwner := in.asOwner(w)
	if asOwner || in.controls[w.as(w.UID)] {
		consider(w.UID, Itself, wish)
	}
	if asOwner {
		owner := w.Controller.UID
		consider(owner, ItsOwner, wish)
		for _, sibling := range in.parts[owner] {
			if sibling != w.UID {
				consider(sibling, SameOwner, wish)
			}
		}
		if cause < 0 { // a test's client and its operator may be one program
			consider(owner, ItsOwner, (*Write).wishes)
		}
	}
	if w.Subresource == "status" {
		for _, part := range in.parts[w.UID] {
			consider(part, ItsPart, func(c *Write) bool { return c.as("") != w.as("") && c.tells() })
		}
	}
	return cause, relation
}

// tells reports whether the write did more than touch its object.
func (w *Write) tells() bool { return w.Effect != Changed || len(w.Changes) > 0 }

// wishes reports whether the write made the object, removed it, or changed what is wished
// of it: no mere status, nor what the cluster's parts note in its metadata.
func (w *Write) wishes() bool {
	if w.Effect != Changed || w.marks() {
		return true
	}
	own := w.own()
	return slices.ContainsFunc(w.Changes, func(c Change) bool {
		field, _, _ := strings.Cut(c.Path, ".")
		return field != "status" && (field != "metadata" || !own)
	})
}
