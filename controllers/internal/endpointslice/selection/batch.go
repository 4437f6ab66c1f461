package selection

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/loop"
)

// An event of a pod leads to the write of an object that lists other pods, too: up to 100 in
// an EndpointSlice, 1,000 in Endpoints. If each pod of a rollout led to a write, that would
// cost more than the rest of the pod's start. Up to batchFree endpoints, a pod's event does not
// wait; beyond, it waits batchEach for each endpoint, and other events join it.
const (
	batchFree    = 100
	batchEach    = 100 * time.Microsecond
	batchLongest = 500 * time.Millisecond
)

// Batch tracks the sizes of services and delays the events of large ones, to handle them
// together. The zero value is ready to use. It is safe for concurrent use.
type Batch struct {
	mu    sync.Mutex
	sizes map[types.NamespacedName]int
}

// Computed records the number of the service's pods; 0 forgets the service.
func (b *Batch) Computed(service types.NamespacedName, pods int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if pods <= batchFree {
		delete(b.sizes, service)
		return
	}
	if b.sizes == nil {
		b.sizes = map[types.NamespacedName]int{}
	}
	b.sizes[service] = pods
}

// Wake returns the services to enqueue at once for a pod's event, and calls later for the
// others.
func (b *Batch) Wake(services []types.NamespacedName, ev loop.Event, later func(types.NamespacedName, time.Duration, ...int64)) []types.NamespacedName {
	var now []types.NamespacedName
	for _, service := range services {
		if delay := b.Delay(service); delay > 0 {
			later(service, delay, cause.Of(ev.Object)...)
			continue
		}
		now = append(now, service)
	}
	return now
}

// Delay returns how long a pod's event waits for other events of the service.
func (b *Batch) Delay(service types.NamespacedName) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return min(time.Duration(b.sizes[service])*batchEach, batchLongest)
}
