package ctrltest

import (
	"reflect"
	"sync"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"minikcm.dev/minikcm/clock/cause"
)

// handler hands one event at a time to a controller's event handler, whoever delivers
// it: the informers of several namespaces share a handler, and so does the resync.
// While it does, it knows which revision the requests that are added follow from.
type handler struct {
	next cache.ResourceEventHandler

	mu     sync.Mutex
	causes []int64 // of the event that next handles
}

// handlerOf returns the one handler before next.
func (w *world) handlerOf(next cache.ResourceEventHandler) *handler {
	if reflect.TypeOf(next).Kind() != reflect.Pointer {
		return &handler{next: next} // it cannot be told from others
	}
	w.handling.Lock()
	defer w.handling.Unlock()
	h := w.handlers[next]
	if h == nil {
		h = &handler{next: next}
		h.attribute()
		if w.handlers == nil {
			w.handlers = map[cache.ResourceEventHandler]*handler{}
		}
		w.handlers[next] = h
	}
	return h
}

func (h *handler) OnAdd(obj any, isInInitialList bool) {
	defer h.handling(obj)()
	h.next.OnAdd(obj, isInInitialList)
}

func (h *handler) OnUpdate(oldObj, newObj any) {
	defer h.handling(newObj)()
	h.next.OnUpdate(oldObj, newObj)
}

func (h *handler) OnDelete(obj any) {
	defer h.handling(obj)()
	h.next.OnDelete(obj)
}

// resync tells of an object again: nothing has happened that would be a cause.
func (h *handler) resync(obj any) {
	defer h.handling(nil)()
	h.next.OnUpdate(obj, obj)
}

func (h *handler) handling(obj any) (done func()) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	h.mu.Lock()
	if o, ok := obj.(metav1.Object); ok {
		h.causes = cause.Of(o)
	}
	return func() {
		h.causes = nil
		h.mu.Unlock()
	}
}

// attributes is what a queue can do for a handler.
type attributes interface{ attributedTo(h *handler) any }

// attribute gives controller-runtime's event handler a queue that knows the causes of
// what the handler adds. The handler keeps its queue in a field that is not exported:
// where it is not found, causes stay unknown, and nothing else changes.
func (h *handler) attribute() {
	v := reflect.ValueOf(h.next).Elem()
	if v.Kind() != reflect.Struct {
		return
	}
	field := v.FieldByName("queue")
	if !field.IsValid() || field.Kind() != reflect.Interface {
		return
	}
	field = reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
	q, ok := field.Interface().(attributes)
	if !ok {
		return
	}
	if own := reflect.ValueOf(q.attributedTo(h)); own.Type().AssignableTo(field.Type()) {
		field.Set(own)
	}
}

func (q *queue[T]) attributedTo(h *handler) any { return &attributed[T]{queue: q, handler: h} }

// attributed is a queue as one handler has it. It is used only while the handler
// handles an event.
type attributed[T comparable] struct {
	*queue[T]
	handler *handler
}

func (a *attributed[T]) Add(request T) { a.AddWithOpts(priorityqueue.AddOpts{}, request) }

func (a *attributed[T]) AddWithOpts(opts priorityqueue.AddOpts, requests ...T) {
	// Before the queue knows of them, so that the worker that takes them finds the causes.
	for _, request := range requests {
		a.causes.Add(request, a.handler.causes)
	}
	a.queue.AddWithOpts(opts, requests...)
}
