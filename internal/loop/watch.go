package loop

import (
	"runtime/debug"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/internal/inflight"
)

// EventType is the kind of a change of a watched object.
type EventType int

// The kinds of changes.
const (
	Added EventType = iota
	Updated
	Deleted
)

func (t EventType) String() string { return [...]string{"Added", "Updated", "Deleted"}[t] }

// Event is a change of a watched object. The objects belong to the informer and must not be
// changed.
type Event struct {
	Type EventType
	// Object is the object's new state; for a deletion the last known state.
	Object metav1.Object
	// Old is the state before an update; otherwise nil.
	Old metav1.Object
}

type watch struct {
	informer     cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration
	handler      *eventHandler
}

// eventHandler is a handler that knows the informer that counts its events; source is nil if none does.
type eventHandler struct {
	cache.ResourceEventHandlerFuncs
	source inflight.Source
}

// Attach is called by the informers of package clock/informers.
func (h *eventHandler) Attach(source inflight.Source) { h.source = source }

func (l *typed[K]) Watch(informer cache.SharedIndexInformer, mapFn func(ev Event) []K, observers ...func(ev Event)) {
	h := &eventHandler{}
	deliver := func(ev Event) {
		defer l.recoverEvent(ev)
		for _, observe := range observers {
			observe(ev)
		}
		if l.loses(ev) {
			return
		}
		keys := mapFn(ev)
		if len(keys) == 0 {
			return
		}
		if l.traced() {
			l.traceEvent(ev, keys)
		}
		l.stopHandler(h.source, ev, keys)
		revision := revisionOf(ev.Object)
		for _, key := range keys {
			if revision == 0 {
				l.Add(key)
			} else {
				l.Add(key, revision)
			}
		}
	}
	h.ResourceEventHandlerFuncs = cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if o, ok := object(obj); ok {
				deliver(Event{Type: Added, Object: o})
			}
		},
		UpdateFunc: func(old, obj any) {
			o, ok := object(obj)
			was, _ := object(old)
			if ok {
				deliver(Event{Type: Updated, Object: o, Old: was})
			}
		},
		DeleteFunc: func(obj any) {
			if o, ok := object(obj); ok {
				deliver(Event{Type: Deleted, Object: o})
			}
		},
	}
	registration, err := informer.AddEventHandler(h)
	if err != nil {
		// The informer has stopped and will deliver nothing. The cluster, which stopped it,
		// stops this loop too.
		l.opts.Logger.Error(err, "Cannot watch", "controller", l.opts.Name)
		return
	}
	l.watches = append(l.watches, watch{informer, registration, h})
}

// recoverEvent keeps a panic of mapFn from ending the process. The event is lost; the next
// event of the object may enqueue the keys.
func (l *typed[K]) recoverEvent(ev Event) {
	value := recover()
	if value == nil {
		return
	}
	l.stats.panicked()
	l.opts.Logger.Error(&PanicError{Value: value}, "An event could not be handled", "controller", l.opts.Name,
		"event", ev.Type, "object", KeyOf(ev.Object), "stack", string(debug.Stack()))
}

// object returns the object that an informer delivers, unwrapped if it is a tombstone.
func object(obj any) (metav1.Object, bool) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	o, ok := obj.(metav1.Object)
	return o, ok
}

func revisionOf(o metav1.Object) int64 {
	n, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Self maps an event to its own object's key.
func Self(ev Event) []types.NamespacedName { return []types.NamespacedName{KeyOf(ev.Object)} }

// Present is Self for objects that have not been deleted.
func Present(ev Event) []types.NamespacedName {
	if ev.Type == Deleted {
		return nil
	}
	return Self(ev)
}

// None returns no keys: it is for a kind that a controller only lists, so that Run waits until
// its cache is complete.
func None(Event) []types.NamespacedName { return nil }

// KeyOf returns an object's key.
func KeyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// KeysOf returns the keys of the listed objects that are wanted. An error of list, which a lister of a cache does not
// return, means none.
func KeysOf[T metav1.Object](list func(labels.Selector) ([]T, error), wanted func(T) bool) []types.NamespacedName {
	all, err := list(labels.Everything())
	if err != nil {
		return nil
	}
	var keys []types.NamespacedName
	for _, o := range all {
		if wanted(o) {
			keys = append(keys, KeyOf(o))
		}
	}
	return keys
}

// ControllerOf maps an event to the key of the object's controller, if it has the given kind.
// If an update changed the controller, it also returns the key of the former one.
func ControllerOf(gk schema.GroupKind) func(ev Event) []types.NamespacedName {
	return func(ev Event) []types.NamespacedName {
		var keys []types.NamespacedName
		if key, ok := controllerKey(ev.Object, gk); ok {
			keys = append(keys, key)
		}
		if ev.Old != nil {
			if key, ok := controllerKey(ev.Old, gk); ok && (len(keys) == 0 || keys[0] != key) {
				keys = append(keys, key)
			}
		}
		return keys
	}
}

func controllerKey(o metav1.Object, gk schema.GroupKind) (types.NamespacedName, bool) {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil || ref.Kind != gk.Kind {
		return types.NamespacedName{}, false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || gv.Group != gk.Group {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}, true
}
