package dump

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// planned is an object to create.
type planned struct {
	// object is the object as a client would create it, except that references have the dump's UIDs.
	object *unstructured.Unstructured
	// uid and generation are the values in the dump.
	uid        types.UID
	generation int64
	// status is written once all objects are created, unless it is nil.
	status map[string]any
	// doomed is true if the object was being deleted. grace is the deletion grace period in
	// seconds.
	doomed bool
	grace  *int64
	// standIn is true if the object is not in the dump.
	standIn bool
}

// plan decides which objects of a dump are created, with which content and in which order. It
// notes objects that are left out or changed in the summary.
func (d *Dump) plan(opts *Options, s *Summary) []*planned {
	kept := d.sortOut(opts, s)
	nodes := map[string]bool{}
	for _, name := range opts.Nodes {
		nodes[name] = true
	}
	for _, o := range kept {
		if isCore(o, "Node") {
			nodes[o.GetName()] = true
		}
	}
	kept = d.place(kept, nodes, s)
	made := map[*unstructured.Unstructured]bool{}
	added, inputs := standIns(kept, d.objects, nodes)
	for _, o := range added {
		made[o] = true
		kept = append(kept, o)
	}
	s.Missing, s.Absent = inputs, absentKinds(d.objects)
	ordered(kept)
	all, taken := make([]*planned, len(kept)), d.Taken()
	for i, o := range kept {
		if !opts.RootsOnly && unprovisioned(o, taken) {
			s.Changed = note(s.Changed, changedClaim, nameOf(o))
		}
		all[i] = d.prepare(o, opts, s)
		all[i].standIn = made[o]
	}
	return all
}

// sortOut returns copies of the objects to load, regardless of which nodes exist.
func (d *Dump) sortOut(opts *Options, s *Summary) []*unstructured.Unstructured {
	seen := map[string]bool{}
	var kept []*unstructured.Unstructured
	for _, o := range d.objects {
		why := leftOut(o)
		if why == "" && opts.RootsOnly {
			why = leftElsewhere(o)
		}
		key := o.GroupVersionKind().Group + "/" + keyOf(o.GetKind(), o.GetNamespace(), o.GetName())
		if why == "" && seen[key] {
			why = leftTwice
		}
		if why != "" {
			s.Left = note(s.Left, why, nameOf(o))
			continue
		}
		seen[key] = true
		kept = append(kept, o.DeepCopy())
	}
	return kept
}

// place unbinds pods from nodes that do not exist, and leaves out pods that cannot run on
// another node.
func (d *Dump) place(objects []*unstructured.Unstructured, nodes map[string]bool, s *Summary) []*unstructured.Unstructured {
	var kept []*unstructured.Unstructured
	for _, o := range objects {
		if node := bound(o); isCore(o, "Pod") && node != "" && !nodes[node] {
			if why := unplaceable(o); why != "" {
				s.Left = note(s.Left, why, nameOf(o))
				continue
			}
			unbind(o)
			s.Changed = note(s.Changed, changedElsewhere, nameOf(o))
		}
		kept = append(kept, o)
	}
	return kept
}

// prepare cleans an object and separates its status and UID.
func (d *Dump) prepare(o *unstructured.Unstructured, opts *Options, s *Summary) *planned {
	p := &planned{uid: o.GetUID(), generation: o.GetGeneration(), doomed: beingDeleted(o), grace: o.GetDeletionGracePeriodSeconds()}
	if changed := clean(o); changed != "" {
		s.Changed = note(s.Changed, changed, nameOf(o))
	}
	if !opts.RootsOnly {
		p.status = restorable(o)
	}
	if !isCore(o, "Node") {
		delete(o.Object, "status")
	}
	o.SetUID("")
	p.object = o
	return p
}
