package modeltest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// World holds the objects that an apiserver would store, and a log of their changes. It is
// not safe for concurrent use.
type World struct {
	clock clock.PassiveClock
	// Graceful reports whether a deleted object stays, marked as being deleted, until
	// Remove removes it; nil: no object does.
	Graceful func(o plan.Object) bool
	// AfterWrite, if not nil, is called after every change.
	AfterWrite func()

	objects map[id]plan.Object
	log     []change
	serial  int
}

var _ executor.Writer = &World{}

type id struct {
	kind            string
	namespace, name string
}

// change is an event of the log.
type change struct {
	kind  string
	event loop.Event
}

// NewWorld returns an empty world.
func NewWorld(c clock.PassiveClock) *World {
	return &World{clock: c, objects: map[id]plan.Object{}}
}

// kindOf identifies a kind by its Go type.
func kindOf(o plan.Object) string { return reflect.TypeOf(o).Elem().Name() }

func idOf(o plan.Object) id { return id{kindOf(o), o.GetNamespace(), o.GetName()} }

func resourceOf(o plan.Object) schema.GroupResource { return schema.GroupResource{Resource: kindOf(o)} }

func clone(o plan.Object) plan.Object { return o.DeepCopyObject().(plan.Object) }

// List returns copies of the objects of a kind, sorted by name.
func List[T plan.Object](w *World) []T {
	var none T
	all := w.sorted(kindOf(none))
	copies := make([]T, len(all))
	for i, o := range all {
		copies[i] = o.DeepCopyObject().(T)
	}
	return copies
}

// Each calls look with every object of a kind, in no particular order. The objects belong
// to the world and must not be changed.
func Each[T plan.Object](w *World, look func(o T)) {
	for _, o := range w.objects {
		if t, ok := o.(T); ok {
			look(t)
		}
	}
}

// sorted returns the objects of a kind, sorted by namespace and name.
func (w *World) sorted(kind string) []plan.Object {
	var all []plan.Object
	for key, o := range w.objects {
		if key.kind == kind {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b plan.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}

func (w *World) find(like plan.Object) (plan.Object, error) {
	if o, ok := w.objects[idOf(like)]; ok {
		return o, nil
	}
	return nil, apierrors.NewNotFound(resourceOf(like), like.GetName())
}

func (w *World) store(o, old plan.Object) {
	w.serial++
	o.SetResourceVersion(strconv.Itoa(w.serial))
	w.objects[idOf(o)] = o
	ev := loop.Event{Type: loop.Added, Object: o}
	if old != nil {
		ev.Type, ev.Old = loop.Updated, old
	}
	w.append(kindOf(o), ev)
}

func (w *World) remove(o plan.Object) {
	w.serial++
	last := clone(o)
	last.SetResourceVersion(strconv.Itoa(w.serial))
	delete(w.objects, idOf(o))
	w.append(kindOf(o), loop.Event{Type: loop.Deleted, Object: last})
}

func (w *World) append(kind string, ev loop.Event) {
	w.log = append(w.log, change{kind, ev})
	if w.AfterWrite != nil {
		w.AfterWrite()
	}
}

// Get returns the current state of the object.
func (w *World) Get(_ context.Context, like plan.Object) (plan.Object, error) {
	o, err := w.find(like)
	if err != nil {
		return nil, err
	}
	return clone(o), nil
}

// Create stores a new object, without its status.
func (w *World) Create(_ context.Context, o plan.Object) (plan.Object, error) {
	made := clone(o)
	if made.GetName() == "" {
		made.SetName(made.GetGenerateName() + strconv.Itoa(w.serial))
	}
	if _, taken := w.objects[idOf(made)]; taken {
		return nil, apierrors.NewAlreadyExists(resourceOf(o), made.GetName())
	}
	made.SetUID(types.UID(fmt.Sprintf("uid-%06d", w.serial)))
	made.SetGeneration(1)
	made.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
	if status := field(made, "Status"); status.IsValid() {
		status.SetZero()
	}
	w.store(made, nil)
	return clone(made), nil
}

// Update replaces everything but the status, or with sub "status" everything but the spec.
func (w *World) Update(_ context.Context, o plan.Object, sub string) (plan.Object, error) {
	old, err := w.find(o)
	if err != nil {
		return nil, err
	}
	if o.GetUID() != old.GetUID() || o.GetResourceVersion() != old.GetResourceVersion() {
		return nil, apierrors.NewConflict(resourceOf(o), o.GetName(), errors.New("the object has been modified"))
	}
	updated := clone(o)
	kept := "Status"
	if sub == "status" {
		kept = "Spec"
	}
	if into := field(updated, kept); into.IsValid() {
		into.Set(field(clone(old), kept))
	}
	return w.replace(updated, old), nil
}

func (w *World) replace(updated, old plan.Object) plan.Object {
	updated.SetGeneration(old.GetGeneration())
	if equality.Semantic.DeepEqual(updated, old) {
		return clone(old)
	}
	for _, name := range []string{"Spec", "Endpoints"} { // an EndpointSlice has no spec
		if spec := field(updated, name); spec.IsValid() && !equality.Semantic.DeepEqual(spec.Interface(), field(old, name).Interface()) {
			updated.SetGeneration(old.GetGeneration() + 1)
		}
	}
	w.store(updated, old)
	return clone(updated)
}

// Patch applies a strategic merge patch. A UID and a resourceVersion in it are
// preconditions.
func (w *World) Patch(_ context.Context, o plan.Object, patch []byte) (plan.Object, error) {
	old, err := w.find(o)
	if err != nil {
		return nil, err
	}
	document, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	patched, err := strategicpatch.StrategicMergePatch(document, patch, old)
	if err != nil {
		return nil, err
	}
	updated := reflect.New(reflect.TypeOf(old).Elem()).Interface().(plan.Object)
	if err := json.Unmarshal(patched, updated); err != nil {
		return nil, err
	}
	if updated.GetUID() != old.GetUID() {
		return nil, apierrors.NewConflict(resourceOf(o), o.GetName(), errors.New("the UID is another one"))
	}
	if updated.GetResourceVersion() != old.GetResourceVersion() {
		return nil, apierrors.NewConflict(resourceOf(o), o.GetName(), errors.New("the object has been modified"))
	}
	return w.replace(updated, old), nil
}

// Delete removes the object, or marks it as being deleted if Graceful says so.
func (w *World) Delete(_ context.Context, o plan.Object) error {
	old, err := w.find(o)
	if err != nil {
		return err
	}
	if o.GetUID() != old.GetUID() {
		return apierrors.NewConflict(resourceOf(o), o.GetName(), errors.New("the UID is another one"))
	}
	if w.Graceful == nil || !w.Graceful(old) {
		w.remove(old)
		return nil
	}
	if old.GetDeletionTimestamp() == nil {
		w.Change(old, func(o plan.Object) {
			at := metav1.NewTime(w.clock.Now())
			o.SetDeletionTimestamp(&at)
		})
	}
	return nil
}

// Remove removes an object that was being deleted.
func (w *World) Remove(o plan.Object) {
	if old, err := w.find(o); err == nil {
		w.remove(old)
	}
}

// Change changes the current state of an object, its spec, status or metadata, as another
// client would whose writes never conflict.
func (w *World) Change(o plan.Object, change func(o plan.Object)) {
	old, err := w.find(o)
	if err != nil {
		return
	}
	updated := clone(old)
	change(updated)
	w.replace(updated, old)
}

func field(o plan.Object, name string) reflect.Value {
	return reflect.ValueOf(o).Elem().FieldByName(name)
}
