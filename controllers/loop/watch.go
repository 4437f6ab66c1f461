package loop

import (
	"runtime/debug"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// EventType says what happened to a watched object.
type EventType int

// What can happen to a watched object.
const (
	Added EventType = iota
	Updated
	Deleted
)

func (t EventType) String() string { return [...]string{"Added", "Updated", "Deleted"}[t] }

// Event is a change of a watched object. The objects are the informer's own and
// must not be changed.
type Event struct {
	Type EventType
	// Object is the object as it is now; of a deleted one the last state known.
	Object metav1.Object
	// Old is the state before an update, else nil.
	Old metav1.Object
}

type watch struct {
	informer     cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration
}

// Watch queues the keys that mapFn gives for each event of the informer, with
// the event's resourceVersion as their cause. It is called before Run, which
// waits for the informer's sync and removes the handler at its end. Tombstones
// are unwrapped here. mapFn runs on the informer's goroutine and must not block;
// it may have side effects (expectations) and return nothing.
func (l *Typed[K]) Watch(informer cache.SharedIndexInformer, mapFn func(ev Event) []K) {
	deliver := func(ev Event) {
		defer l.recoverEvent(ev)
		if l.loses(ev) {
			return
		}
		keys := mapFn(ev)
		if len(keys) == 0 {
			return
		}
		revision := revisionOf(ev.Object)
		for _, key := range keys {
			if revision == 0 {
				l.Add(key)
			} else {
				l.Add(key, revision)
			}
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
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
	})
	if err != nil {
		// The informer has been stopped: it will deliver nothing, and whoever
		// stopped it stops this loop too.
		l.opts.Logger.Error(err, "Cannot watch", "controller", l.opts.Name)
		return
	}
	l.watches = append(l.watches, watch{informer, registration})
}

// recoverEvent keeps a panic of a mapping from ending the process. The event adds no
// key then; what it was about is looked at when its next one comes.
func (l *Typed[K]) recoverEvent(ev Event) {
	value := recover()
	if value == nil {
		return
	}
	l.stats.panicked()
	l.opts.Logger.Error(&PanicError{Value: value}, "An event could not be handled", "controller", l.opts.Name,
		"event", ev.Type, "object", KeyOf(ev.Object), "stack", string(debug.Stack()))
}

// object unwraps what an informer hands out, tombstones included.
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

// KeyOf returns an object's key.
func KeyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// ControllerOf maps an event to the object's controller, if that is of the given
// kind; after an update that changed the controller, to the former one too.
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
