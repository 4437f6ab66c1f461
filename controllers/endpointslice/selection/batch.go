package selection

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/clock/cause"
	"minikcm.dev/minikcm/controllers/loop"
)

// Computing a service's endpoints costs time for each of its pods, so that a
// rollout of a large service would cost the square of its size if each pod's event
// led to a computation. Up to batchFree endpoints there is no waiting; beyond, a
// pod's event waits batchEach for each endpoint, and others join it meanwhile.
const (
	batchFree    = 100
	batchEach    = 100 * time.Microsecond
	batchLongest = 500 * time.Millisecond
)

// Batch knows how large services are and how long their pods' events may wait to be
// handled together. The zero value is ready, and safe for concurrent use.
type Batch struct {
	mu    sync.Mutex
	sizes map[types.NamespacedName]int
}

// Computed notes how many pods the service had just now; 0 forgets it.
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

// Wake returns those of the services that the pod's event wakes at once, and has later
// wake the others.
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

// Delay is how long a pod's event of the service is to wait for others.
func (b *Batch) Delay(service types.NamespacedName) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return min(time.Duration(b.sizes[service])*batchEach, batchLongest)
}
