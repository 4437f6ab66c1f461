package loop

import (
	"slices"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
)

// disturbances are what a loop suffers on demand. A loop that was never disturbed has
// none.
type disturbances[K comparable] struct {
	mu     sync.Mutex
	paused int
	held   []K // in the order of Add, each once

	slow time.Duration
	// busy is until when the work that has been queued takes.
	busy   time.Time
	slowed *delays[K]

	lost   float64
	random *clock.Random
}

// disturbed returns the loop's disturbances, and makes them the first time.
func (l *Typed[K]) disturbed() *disturbances[K] {
	d := &disturbances[K]{}
	d.slowed = newDelays(l.opts.Clock, l.queue.Add)
	if !l.disturbances.CompareAndSwap(nil, d) {
		return l.disturbances.Load()
	}
	return d
}

// Pause lets no key be worked on until resume is called. What runs ends as usual.
func (l *Typed[K]) Pause() (resume func()) {
	d := l.disturbed()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused++
	return sync.OnceFunc(func() {
		d.mu.Lock()
		d.paused--
		var keys []K
		if d.paused == 0 {
			keys, d.held = d.held, nil
		}
		d.mu.Unlock()
		for _, key := range keys {
			l.queue.Add(key)
		}
	})
}

// Slow makes each reconcile take longer by by, of the clock's time, until end is
// called: as many at once as there are workers.
func (l *Typed[K]) Slow(by time.Duration) (end func()) {
	d := l.disturbed()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow = by
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.slow = 0
	}
}

// Lose lets a share of the events that are delivered go by unseen until end is called.
func (l *Typed[K]) Lose(share float64, random *clock.Random) (end func()) {
	d := l.disturbed()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lost, d.random = share, random
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.lost = 0
	}
}

// holds reports whether a key that was added does not come into the queue at once.
func (l *Typed[K]) holds(key K) bool {
	d := l.disturbances.Load()
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.paused > 0:
		if !slices.Contains(d.held, key) {
			d.held = append(d.held, key)
		}
		return true
	case d.slow > 0:
		now := l.opts.Clock.Now()
		due := now.Add(d.slow)
		if next := d.busy.Add(d.slow / time.Duration(l.opts.Workers)); next.After(due) {
			due = next
		}
		if d.slowed.add(key, due.Sub(now)) {
			d.busy = due
		}
		return true
	}
	return false
}

// loses reports whether an event is one that is not seen.
func (l *Typed[K]) loses(ev Event) bool {
	d := l.disturbances.Load()
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	// Informers deliver side by side: chance must not depend on who is first.
	return d.lost > 0 && d.random.Keyed(ev.Type.String()+KeyOf(ev.Object).String()+ev.Object.GetResourceVersion()).Float64() < d.lost
}

func (l *Typed[K]) stopDisturbances() {
	if d := l.disturbances.Load(); d != nil {
		d.slowed.stop()
	}
}
