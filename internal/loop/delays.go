package loop

import (
	"sync"
	"time"

	utilclock "k8s.io/utils/clock"

	"minikcm.dev/minikcm/clock"
)

// delays holds the keys that wait for a time. It uses AfterFunc, not channel timers as
// client-go's delaying queue does: a virtual clock does not move on before the function has
// returned, but it cannot know when the receiver of a channel has queued the key.
type delays[K comparable] struct {
	clock clock.Clock
	fire  func(K)

	mu      sync.Mutex
	waiting map[K]*delay
	closed  bool
	running sync.WaitGroup
}

type delay struct {
	due   time.Time
	timer utilclock.Timer
}

func newDelays[K comparable](c clock.Clock, add func(K)) *delays[K] {
	return &delays[K]{clock: c, fire: add, waiting: map[K]*delay{}}
}

// add calls fire for key after a delay. It returns false if the key has a delay that ends
// earlier.
func (d *delays[K]) add(key K, after time.Duration) bool {
	due := d.clock.Now().Add(after)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	if known := d.waiting[key]; known != nil {
		if !due.Before(known.due) {
			return false
		}
		d.cancel(known)
	}
	w := &delay{due: due}
	d.waiting[key] = w
	d.running.Add(1)
	w.timer = d.clock.AfterFunc(after, func() {
		defer d.running.Done()
		d.mu.Lock()
		current := d.waiting[key] == w
		if current {
			delete(d.waiting, key)
		}
		d.mu.Unlock()
		if current {
			d.fire(key)
		}
	})
	return true
}

// list returns when the delay of each key ends.
func (d *delays[K]) list() map[K]time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[K]time.Time, len(d.waiting))
	for key, w := range d.waiting {
		all[key] = w.due
	}
	return all
}

// cancel stops a timer. If it has fired already, its function finds that it is not the
// current delay of the key, and does nothing.
func (d *delays[K]) cancel(w *delay) {
	if w.timer.Stop() {
		d.running.Done()
	}
}

// stop stops all timers and waits for running callbacks.
func (d *delays[K]) stop() {
	d.mu.Lock()
	d.closed = true
	for key, w := range d.waiting {
		delete(d.waiting, key)
		d.cancel(w)
	}
	d.mu.Unlock()
	d.running.Wait()
}
