package graph

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// modelKinds are watched by separate informers, whose progress differs.
var modelKinds = []string{"A", "B", "C"}

// world is an in-memory cluster: an API with the semantics of deletion, informers that lag
// behind it, and the collector's graph and queue.
type world struct {
	t        *rapid.T
	objects  map[types.UID]Observation
	behind   map[string][]func(*Graph) Changes
	graph    *Graph
	queue    map[types.UID]bool
	revision int
	made     int
}

func newWorld(t *rapid.T) *world {
	return &world{
		t: t, objects: map[types.UID]Observation{}, behind: map[string][]func(*Graph) Changes{},
		graph: New(), queue: map[types.UID]bool{},
	}
}

func (w *world) follow(c Changes) {
	for _, uid := range c.Wake {
		w.queue[uid] = true
	}
	w.agree()
}

// agree compares the numbers of blocking dependents with a count from scratch.
func (w *world) agree() {
	for uid, n := range w.graph.nodes {
		count := 0
		for _, d := range n.dependents {
			if d.node.blocks(uid) {
				count++
			}
		}
		if count != n.blockers {
			w.t.Fatalf("%s has %d blocking dependents, the graph counts %d", uid, count, n.blockers)
		}
	}
}

// put stores a new version, or removes an object that is being deleted and has no
// finalizers.
func (w *world) put(o Observation) {
	w.revision++
	o.ResourceVersion = strconv.Itoa(w.revision)
	if o.Deleting && !o.Foreground && !o.Orphan {
		delete(w.objects, o.UID)
		w.behind[o.Kind] = append(w.behind[o.Kind], func(g *Graph) Changes { return g.Gone(o.UID) })
		return
	}
	w.objects[o.UID] = o
	w.behind[o.Kind] = append(w.behind[o.Kind], func(g *Graph) Changes { return g.Seen(o) })
}

func (w *world) remove(o Observation, policy metav1.DeletionPropagation) {
	o.Deleting = true
	o.Foreground = o.Foreground || policy == metav1.DeletePropagationForeground
	o.Orphan = o.Orphan || policy == metav1.DeletePropagationOrphan
	w.put(o)
}

func (w *world) uids() []types.UID {
	var all []types.UID
	for uid := range w.objects {
		all = append(all, uid)
	}
	slices.Sort(all)
	return all
}

// create creates an object whose owners exist, existed, or will never exist.
func (w *world) create() {
	kind := rapid.SampledFrom(modelKinds).Draw(w.t, "kind")
	name := fmt.Sprint(kind, w.made)
	w.made++
	o := Observation{Coordinates: Coordinates{APIVersion: "v1", Kind: kind, Namespace: "n", Name: name, UID: types.UID(name)}}
	for range rapid.IntRange(0, 2).Draw(w.t, "owners") {
		// If the object of that number has another kind, the owner never existed.
		n := rapid.IntRange(0, w.made-1).Draw(w.t, "owner")
		ownerKind := rapid.SampledFrom(modelKinds).Draw(w.t, "owner's kind")
		owner := types.UID(fmt.Sprint(ownerKind, n))
		if _, has := o.references(owner); has || owner == o.UID {
			continue
		}
		block := rapid.Bool().Draw(w.t, "blocks")
		o.Owners = append(o.Owners, metav1.OwnerReference{APIVersion: "v1", Kind: ownerKind, Name: string(owner), UID: owner, BlockOwnerDeletion: &block})
	}
	w.put(o)
}

// adopt adds an owner to an object or removes one. Objects can then own each other.
func (w *world) adopt() {
	uids := w.uids()
	if len(uids) == 0 {
		return
	}
	o := w.objects[rapid.SampledFrom(uids).Draw(w.t, "object")]
	owner := w.objects[rapid.SampledFrom(uids).Draw(w.t, "owner")]
	if _, has := o.references(owner.UID); has {
		w.dropOwners(o.UID, owner.UID)
		return
	}
	block := rapid.Bool().Draw(w.t, "blocks")
	ref := metav1.OwnerReference{APIVersion: "v1", Kind: owner.Kind, Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: &block}
	if rapid.IntRange(0, 9).Draw(w.t, "mistaken") == 0 {
		ref.Name = "mistaken"
	}
	o.Owners = append(slices.Clone(o.Owners), ref)
	w.put(o)
}

func (w *world) deleteOne() {
	uids := w.uids()
	if len(uids) == 0 {
		return
	}
	o := w.objects[rapid.SampledFrom(uids).Draw(w.t, "object")]
	if o.Deleting {
		return
	}
	w.remove(o, rapid.SampledFrom([]metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	}).Draw(w.t, "policy"))
}

func (w *world) deliver() {
	kind := rapid.SampledFrom(modelKinds).Draw(w.t, "kind")
	w.deliverOf(kind)
}

func (w *world) deliverOf(kind string) bool {
	if len(w.behind[kind]) == 0 {
		return false
	}
	event := w.behind[kind][0]
	w.behind[kind] = w.behind[kind][1:]
	w.follow(event(w.graph))
	return true
}

func (w *world) workOne() {
	var uids []types.UID
	for uid := range w.queue {
		uids = append(uids, uid)
	}
	if len(uids) == 0 {
		return
	}
	slices.Sort(uids)
	w.work(rapid.SampledFrom(uids).Draw(w.t, "key"))
}

// work acts as the controller's collect does, and enqueues the key again on a conflict.
func (w *world) work(uid types.UID) {
	delete(w.queue, uid)
	v, known := w.graph.View(uid)
	if !known {
		return
	}
	if NeedsOwners(v) {
		for i, ref := range v.Owners {
			if v.States[i] == OwnerUnknown {
				v.States[i] = w.ask(OwnerAt(ref, v.Namespace))
			}
		}
	}
	action := Decide(v)
	live, exists := w.objects[uid]
	switch action.Verb {
	case LookUp:
		if !exists || live.Coordinates != v.Coordinates {
			w.follow(w.graph.Absent(v.Coordinates))
		}
	case Release:
		if exists && live.Foreground {
			live.Foreground = false
			w.put(live)
		}
	case OrphanDependents:
		for _, dependent := range w.graph.Dependents(uid) {
			w.dropOwners(dependent.UID, uid)
		}
		if exists && live.Orphan {
			live.Orphan = false
			w.put(live)
		}
	case DropOwners:
		w.dropOwners(uid, action.Owners...)
	case Unblock:
		w.unblock(live)
	case Delete:
		w.collect(v, live, exists, action)
	}
}

func (w *world) ask(at Coordinates) OwnerState {
	owner, exists := w.objects[at.UID]
	switch {
	case !exists || owner.Coordinates != at:
		w.follow(w.graph.Absent(at))
		return OwnerAbsent
	case owner.deletesDependents():
		return OwnerWaits
	}
	return OwnerExists
}

func (w *world) dropOwners(uid types.UID, owners ...types.UID) {
	o, exists := w.objects[uid]
	if !exists {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(o.Owners), func(ref metav1.OwnerReference) bool { return slices.Contains(owners, ref.UID) })
	if len(kept) != len(o.Owners) {
		o.Owners = kept
		w.put(o)
	}
}

func (w *world) unblock(o Observation) {
	o.Owners = slices.Clone(o.Owners)
	changed := false
	for i := range o.Owners {
		changed = changed || isTrue(o.Owners[i].BlockOwnerDeletion)
		o.Owners[i].BlockOwnerDeletion = new(bool)
	}
	if changed {
		w.put(o)
	}
}

// collect deletes the object, and fails the test if the present states of its owners in the
// API do not allow it.
func (w *world) collect(v View, live Observation, exists bool, action Action) {
	if !exists {
		w.follow(w.graph.Absent(v.Coordinates))
		return
	}
	if live.ResourceVersion != v.ResourceVersion {
		w.queue[v.UID] = true
		return
	}
	for _, ref := range live.Owners {
		owner, ownerExists := w.objects[ref.UID]
		if ownerExists && owner.Coordinates == OwnerAt(ref, live.Namespace) && !owner.deletesDependents() {
			w.t.Fatalf("%s deleted, but its owner %s exists", live.UID, ref.UID)
		}
	}
	w.remove(live, action.Policy)
}

// settle runs informers and workers until they are idle. It fails if they never are.
func (w *world) settle() {
	for range 10000 {
		busy := false
		for _, kind := range modelKinds {
			busy = w.deliverOf(kind) || busy
		}
		uids := make([]types.UID, 0, len(w.queue))
		for uid := range w.queue {
			uids = append(uids, uid)
		}
		slices.Sort(uids)
		for _, uid := range uids {
			busy = true
			w.work(uid)
		}
		if !busy {
			return
		}
	}
	w.t.Fatalf("does not settle: %d keys queued", len(w.queue))
}

// check checks the conditions that must hold when all are idle.
func (w *world) check() {
	for _, uid := range w.uids() {
		o := w.objects[uid]
		kept := len(o.Owners) == 0
		for _, ref := range o.Owners {
			owner, exists := w.objects[ref.UID]
			if exists && owner.Coordinates == OwnerAt(ref, o.Namespace) {
				kept = true
				if owner.deletesDependents() && isTrue(ref.BlockOwnerDeletion) && !o.Deleting {
					w.t.Errorf("%s waits for %s, which is not being deleted", owner.UID, uid)
				}
			}
		}
		if !kept && !o.Deleting {
			w.t.Errorf("%s is garbage and still there: %+v", uid, o)
		}
		if o.Deleting {
			w.t.Errorf("%s still waits for its end: %+v", uid, o)
		}
	}
}

func TestModelCollectsAllGarbageAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		steps := rapid.IntRange(1, 60).Draw(t, "steps")
		for range steps {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1:
				w.create()
			case 2:
				w.adopt()
			case 3, 4:
				w.deleteOne()
			case 5, 6, 7:
				w.deliver()
			default:
				w.workOne()
			}
		}
		w.settle()
		w.check()
	})
}
