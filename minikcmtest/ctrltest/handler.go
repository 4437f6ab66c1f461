package ctrltest

import (
	"reflect"
	"sync"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"minikcm.dev/minikcm/internal/cause"
)

// handler passes one event at a time to a controller's event handler. Informers of several
// namespaces and the resync share one handler and deliver concurrently. Since events are
// serialized, the requests that are added meanwhile have the causes of the current event.
type handler struct {
	next cache.ResourceEventHandler

	mu     sync.Mutex
	causes []int64 // the causes of the event that next handles
}

// handlerOf returns the handler that wraps next, the same one for each call.
func (w *world) handlerOf(next cache.ResourceEventHandler) *handler {
	if reflect.TypeOf(next).Kind() != reflect.Pointer {
		return &handler{next: next} // not a pointer, so it has no identity
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

// resync delivers an object as an update without a change. It has no cause.
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

// attributes is implemented by queues that can attribute requests to a handler.
type attributes interface{ attributedTo(h *handler) any }

// attribute replaces the queue of controller-runtime's event handler with one that records
// the causes of the requests that the handler adds. The queue is in an unexported field. If
// that field is not found, causes stay unknown, and nothing else changes.
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

// attributed is the queue of one handler. It is used only while the handler handles an event.
type attributed[T comparable] struct {
	*queue[T]
	handler *handler
}

func (a *attributed[T]) Add(request T) { a.AddWithOpts(priorityqueue.AddOpts{}, request) }

func (a *attributed[T]) AddWithOpts(opts priorityqueue.AddOpts, requests ...T) {
	// The causes are added before the requests, so that a worker that takes a request finds
	// its causes.
	for _, request := range requests {
		a.causes.Add(request, a.handler.causes)
	}
	a.queue.AddWithOpts(opts, requests...)
}
