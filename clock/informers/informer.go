package informers

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// informer is one of client-go's shared informers, and the flow that counts its events.
//
// A handler that joins a running informer is in flight until it has seen all that
// was there, and is counted for objects that are stored after AddEventHandler has returned.
// For a change that comes at the very moment it joins, it is not waited for.
type informer struct {
	cache.SharedIndexInformer
	flow *flow

	mu       sync.Mutex
	running  chan struct{} // closed when the informer has ended; nil before it was started
	ended    bool
	joining  sync.WaitGroup
	handlers map[cache.ResourceEventHandlerRegistration]*handler
	onError  cache.WatchErrorHandlerWithContext

	sharing sync.Mutex // held while a handler is added or removed, and at the start
	// early are the handlers that were added before the start; nil: there are none.
	early *shared
}

func newInformer(inner cache.SharedIndexInformer, ledger *clock.Ledger) *informer {
	i := &informer{
		SharedIndexInformer: inner,
		flow:                newFlow(ledger),
		handlers:            map[cache.ResourceEventHandlerRegistration]*handler{},
		onError:             cache.DefaultWatchErrorHandler,
	}
	i.flow.known = func() int { return len(inner.GetIndexer().ListKeys()) }
	// None of these fails before an informer was started.
	if i.flow.retries != nil {
		_ = inner.SetWatchErrorHandlerWithContext(i.leadReflector)
	}
	_ = i.SetTransform(nil)
	return i
}

// ensureHandler adds a handler that does nothing if there is none besides one that goes: an informer that is asked for its lister only
// is done with an event when the lister shows it, which is before handlers are called. A handler costs two goroutines and a buffer of
// 16 KiB, so other informers have none of these.
func (i *informer) ensureHandler(goes cache.ResourceEventHandlerRegistration) {
	i.mu.Lock()
	others := len(i.handlers)
	if _, is := i.handlers[goes]; is {
		others--
	}
	i.mu.Unlock()
	if others == 0 {
		_, _ = i.listen(cache.ResourceEventHandlerFuncs{}, cache.HandlerOptions{}) // it fails only if the informer has ended
	}
}

func (i *informer) Run(stopCh <-chan struct{}) {
	i.RunWithContext(wait.ContextForChannel(stopCh))
}

func (i *informer) RunWithContext(ctx context.Context) {
	i.ensureHandler(nil)
	if !i.markStarted() {
		i.SharedIndexInformer.RunWithContext(ctx) // it says what it thinks of that
		return
	}
	i.flow.start()
	defer i.flow.stop()
	defer i.end()
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	waiting.Go(func() {
		select {
		case <-i.HasSyncedChecker().Done():
			i.flow.hasSynced()
		case <-ctx.Done():
		}
	})
	// The caller that starts an informer does not wait for its later requests.
	i.SharedIndexInformer.RunWithContext(withFlow(inflight.Alone(ctx), i.flow))
}

// markStarted ends the time of early handlers. It returns false if the informer was started before.
func (i *informer) markStarted() bool {
	i.sharing.Lock()
	defer i.sharing.Unlock()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running != nil {
		return false
	}
	i.running = make(chan struct{})
	return true
}

// end waits for the work that waits for the informer.
func (i *informer) end() {
	i.mu.Lock()
	i.ended = true
	close(i.running)
	i.mu.Unlock()
	i.joining.Wait()
}

// GetIndexer returns the informer's content, in order where a course of events must be
// repeatable.
func (i *informer) GetIndexer() cache.Indexer {
	inner := i.SharedIndexInformer.GetIndexer()
	if i.flow.ledger.TakesTurns() {
		return sorted{inner}
	}
	return inner
}

// Backlog implements inflight.Source.
func (i *informer) Backlog() (received, undelivered int) { return i.flow.backlog() }

// GetStore is GetIndexer for callers that need no index.
func (i *informer) GetStore() cache.Store { return i.GetIndexer() }

func (i *informer) SetTransform(transform cache.TransformFunc) error {
	return i.SharedIndexInformer.SetTransform(func(in any) (any, error) {
		i.flow.stopAtQueue(in)
		if transform == nil {
			i.flow.stored(in, in, nil)
			return in, nil
		}
		out, err := transform(in)
		i.flow.stored(in, out, err)
		return out, err
	})
}

func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, cache.HandlerOptions{})
}

func (i *informer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, period time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, cache.HandlerOptions{ResyncPeriod: &period})
}

func (i *informer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, opts cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	if attached, ok := h.(interface{ Attach(source inflight.Source) }); ok {
		attached.Attach(i)
	}
	i.sharing.Lock()
	defer i.sharing.Unlock()
	if opts != (cache.HandlerOptions{}) || i.hasStarted() {
		return i.listen(h, opts)
	}
	if i.early == nil {
		early := newShared()
		var err error
		if early.registration, err = i.listen(early, opts); err != nil {
			return nil, err
		}
		i.early = early
	}
	return i.early.add(h), nil
}

func (i *informer) hasStarted() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.running != nil
}

// listen adds a listener of client-go.
func (i *informer) listen(h cache.ResourceEventHandler, opts cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	counted := &handler{next: h, flow: i.flow, removed: make(chan struct{})}
	defer inflight.Begin(i.flow.ledger, inflight.Event).End()
	handle, err := i.SharedIndexInformer.AddEventHandlerWithOptions(counted, opts)
	if err != nil {
		return nil, err
	}
	i.flow.join(counted)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers[handle] = counted
	if i.running != nil && !i.ended {
		work := inflight.Begin(i.flow.ledger, inflight.Event)
		i.joining.Go(func() {
			defer work.End()
			select {
			case <-handle.HasSyncedChecker().Done():
			case <-counted.removed:
			case <-i.running:
			}
		})
	}
	return handle, nil
}

func (i *informer) RemoveEventHandler(handle cache.ResourceEventHandlerRegistration) error {
	i.sharing.Lock()
	defer i.sharing.Unlock()
	one, is := handle.(*sharing)
	if !is {
		return i.unlisten(handle)
	}
	if i.early == nil {
		return nil // it was removed before
	}
	if left, was := i.early.remove(one); left || !was {
		return nil
	}
	registration := i.early.registration
	i.early = nil
	return i.unlisten(registration)
}

// unlisten removes a listener.
func (i *informer) unlisten(handle cache.ResourceEventHandlerRegistration) error {
	i.ensureHandler(handle)
	if err := i.SharedIndexInformer.RemoveEventHandler(handle); err != nil {
		return err
	}
	i.mu.Lock()
	counted := i.handlers[handle]
	delete(i.handlers, handle)
	i.mu.Unlock()
	if counted != nil {
		close(counted.removed)
		i.flow.leave(counted)
	}
	return nil
}

// handler reports to the flow when the handler that it wraps has returned.
type handler struct {
	next    cache.ResourceEventHandler
	flow    *flow
	removed chan struct{} // closed by RemoveEventHandler

	// Guarded by flow.mu: the first change that this handler was there for, and the
	// last one that it has returned from.
	since, seen uint64
}

func (h *handler) OnAdd(obj any, isInInitialList bool) {
	defer h.flow.handled(h, obj)
	h.next.OnAdd(obj, isInInitialList)
}

func (h *handler) OnUpdate(oldObj, newObj any) {
	defer h.flow.handled(h, newObj)
	h.next.OnUpdate(oldObj, newObj)
}

func (h *handler) OnDelete(obj any) {
	defer h.flow.handled(h, obj)
	defer h.flow.deleted(h, obj)
	h.next.OnDelete(obj)
}
