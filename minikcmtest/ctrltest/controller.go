package ctrltest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/minikcmtest"
)

// The package of controller-runtime's controller type, which is exported as an interface only.
const (
	runtimeModule     = "sigs.k8s.io/controller-runtime/"
	controllerPackage = runtimeModule + "pkg/internal/controller"
)

// controllerFields are the fields of controller-runtime's controller that determine its
// timing. They are exported and have not changed since v0.20.
type controllerFields struct {
	name     string
	workers  int
	newQueue reflect.Value
	do       reflect.Value
}

// fieldsOf returns the fields of a runnable that is a controller, and nil for any other
// runnable. It returns an error for a controller without these fields.
func fieldsOf(runnable any) (*controllerFields, error) {
	v := reflect.ValueOf(runnable)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct || !looksLikeController(v) {
		return nil, nil
	}
	field := func(name string, kind reflect.Kind) (reflect.Value, error) {
		f := v.Elem().FieldByName(name)
		if !f.IsValid() || f.Kind() != kind || !f.CanSet() {
			return f, fmt.Errorf("putting the controller %T on the cluster's clock: it has no settable field %s of kind %s: "+
				"this release of controller-runtime is not supported, use one that docs/operators.md lists", runnable, name, kind)
		}
		return f, nil
	}
	var c controllerFields
	name, err := field("Name", reflect.String)
	if err != nil {
		return nil, err
	}
	workers, err := field("MaxConcurrentReconciles", reflect.Int)
	if err != nil {
		return nil, err
	}
	c.name, c.workers = name.String(), int(workers.Int())
	if c.newQueue, err = field("NewQueue", reflect.Func); err != nil {
		return nil, err
	}
	if c.do, err = field("Do", reflect.Interface); err != nil {
		return nil, err
	}
	return &c, nil
}

// looksLikeController reports whether v is controller-runtime's controller. In releases that
// have moved the type, it is recognized by its methods.
func looksLikeController(v reflect.Value) bool {
	path := v.Type().Elem().PkgPath()
	if path == controllerPackage {
		return strings.HasPrefix(v.Type().Elem().Name(), "Controller[")
	}
	if !strings.HasPrefix(path, runtimeModule) {
		return false
	}
	for _, method := range []string{"Watch", "Reconcile", "GetLogger", "Start"} {
		if !v.MethodByName(method).IsValid() {
			return false
		}
	}
	return true
}

// newQueueFunc is the type of a controller's field NewQueue.
type newQueueFunc[T comparable] = func(name string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T]

// adapter puts controllers of one request type on the cluster's clock. It returns false for
// controllers of other request types.
type adapter func(w *world, c *controllerFields, h hooks) bool

// adaptTo is the adapter for requests of type T.
func adaptTo[T comparable](w *world, c *controllerFields, h hooks) bool {
	original, ok := c.newQueue.Interface().(newQueueFunc[T])
	if !ok {
		return false
	}
	inner, ok := c.do.Interface().(reconcile.TypedReconciler[T])
	if !ok {
		return false
	}
	counted := &reconciler[T]{inner: inner, name: c.name, observe: w.reconciled}
	name, workers := c.name, c.workers
	c.do.Set(reflect.ValueOf(counted))
	c.newQueue.Set(reflect.ValueOf(newQueueFunc[T](func(queueName string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
		counted.queue = newQueue(queueOptions[T]{
			name: w.identity + "/" + name, clock: w.clock, ledger: w.ledger, limiter: limiter, workers: workers,
			prioritized: isPrioritized(original(queueName, limiter)), onWork: h.works,
		})
		h.made()
		return counted.queue
	})))
	return true
}

// isPrioritized reports whether a controller's original queue is controller-runtime's
// priority queue, and shuts that queue down.
func isPrioritized[T comparable](q workqueue.TypedRateLimitingInterface[T]) bool {
	defer q.ShutDown()
	_, prioritized := q.(priorityqueue.PriorityQueue[T])
	return prioritized
}

// hasOwnQueue reports whether the controller's options set NewQueue: then the function is not
// one of controller-runtime's.
func (c *controllerFields) hasOwnQueue() bool {
	f := runtime.FuncForPC(c.newQueue.Pointer())
	return f != nil && !strings.HasPrefix(f.Name(), runtimeModule)
}

// requestType returns the type of the requests, for error messages.
func (c *controllerFields) requestType() string {
	if t := c.newQueue.Type(); t.NumOut() == 1 {
		_, args, _ := strings.Cut(t.Out(0).String(), "[")
		return strings.TrimSuffix(args, "]")
	}
	return "unknown"
}

// reconciler wraps a reconciler: the context that it passes carries the causes of the request
// and lets the reconcile pause. The queue is set when the controller starts.
type reconciler[T comparable] struct {
	inner   reconcile.TypedReconciler[T]
	name    string
	observe func(minikcmtest.Reconcile)
	queue   *queue[T]
}

func (r *reconciler[T]) Reconcile(ctx context.Context, request T) (reconcile.Result, error) {
	if r.queue == nil { // called directly, before the controller has started
		return r.inner.Reconcile(ctx, request)
	}
	causes := r.queue.causes.Take(request)
	ctx = cause.With(ctx, causes)
	if r.queue.line.TakesTurns() {
		working, done := r.queue.pausing(ctx, request)
		defer done()
		ctx = working
	}
	result, err := r.observed(ctx, request)
	if err != nil && !errors.Is(err, reconcile.TerminalError(nil)) {
		// The retry has the same causes.
		r.queue.causes.Add(request, causes)
	}
	return result, err
}

// observed reconciles, and says how it ended. A panic goes on.
func (r *reconciler[T]) observed(ctx context.Context, request T) (result reconcile.Result, err error) {
	defer func() {
		end := minikcmtest.Reconcile{Controller: r.name, Request: fmt.Sprint(request), Err: err, Panic: recover()}
		r.observe(end)
		if end.Panic != nil {
			panic(end.Panic)
		}
	}()
	return r.inner.Reconcile(ctx, request)
}
