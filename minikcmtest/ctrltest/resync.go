package ctrltest

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	utilclock "k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
)

// defaultSyncPeriod is controller-runtime's default.
const defaultSyncPeriod = 10 * time.Hour

// syncPeriods returns all resync periods that the options of a cache set.
func syncPeriods(options ctrlcache.Options) []time.Duration {
	periods := []time.Duration{ptr.Deref(options.SyncPeriod, defaultSyncPeriod)}
	add := func(p *time.Duration) {
		if p != nil {
			periods = append(periods, *p)
		}
	}
	for _, namespace := range options.DefaultNamespaces {
		add(namespace.SyncPeriod)
	}
	for _, object := range options.ByObject {
		add(object.SyncPeriod)
		for _, namespace := range object.Namespaces {
			add(namespace.SyncPeriod)
		}
	}
	return periods
}

// withoutJitter returns the period from which controller-runtime computed a jittered one: the
// closest of periods. Its jitter does not follow from the seed.
func withoutJitter(jittered time.Duration, periods []time.Duration) time.Duration {
	return slices.MinFunc(periods, func(a, b time.Duration) int {
		return int((a - jittered).Abs() - (b - jittered).Abs())
	})
}

// resynced is an informer that resyncs on the cluster's clock: after each period it delivers
// all objects to its handlers, as updates without a change. client-go's informers do that on
// the machine's clock.
type resynced struct {
	cache.SharedIndexInformer
	world  *world
	period time.Duration

	mu       sync.Mutex
	handlers map[cache.ResourceEventHandlerRegistration]*handler
	timer    utilclock.Timer // nil while the informer does not run
}

func (r *resynced) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return r.AddEventHandlerWithOptions(h, cache.HandlerOptions{})
}

func (r *resynced) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return r.AddEventHandlerWithOptions(h, cache.HandlerOptions{})
}

func (r *resynced) AddEventHandlerWithOptions(h cache.ResourceEventHandler, options cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	own := r.world.handlerOf(h)
	options.ResyncPeriod = nil // the informer's period, which is 0
	registration, err := r.SharedIndexInformer.AddEventHandlerWithOptions(own, options)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handlers == nil {
		r.handlers = map[cache.ResourceEventHandlerRegistration]*handler{}
	}
	r.handlers[registration] = own
	return registration, nil
}

func (r *resynced) RemoveEventHandler(registration cache.ResourceEventHandlerRegistration) error {
	r.mu.Lock()
	delete(r.handlers, registration)
	r.mu.Unlock()
	return r.SharedIndexInformer.RemoveEventHandler(registration)
}

func (r *resynced) Run(stop <-chan struct{}) {
	r.RunWithContext(wait.ContextForChannel(stop))
}

func (r *resynced) RunWithContext(ctx context.Context) {
	if r.period > 0 {
		r.start()
		defer r.stop()
	}
	r.SharedIndexInformer.RunWithContext(ctx)
}

func (r *resynced) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = r.world.clock.AfterFunc(r.period, r.resync)
}

func (r *resynced) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer.Stop()
	r.timer = nil
}

func (r *resynced) resync() {
	r.mu.Lock()
	if r.timer == nil {
		r.mu.Unlock()
		return
	}
	handlers := make([]*handler, 0, len(r.handlers))
	for _, h := range r.handlers {
		handlers = append(handlers, h)
	}
	r.timer = r.world.clock.AfterFunc(r.period, r.resync)
	r.mu.Unlock()
	for _, obj := range r.GetStore().List() {
		for _, h := range handlers {
			h.resync(obj)
		}
	}
}
