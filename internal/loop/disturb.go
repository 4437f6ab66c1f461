package loop

import (
	"slices"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
)

// disturbances are the faults that are injected into a loop.
type disturbances[K comparable] struct {
	mu     sync.Mutex
	paused int
	kept   []K // in the order of Add, each once

	slow time.Duration
	// busy is the time at which the slowed work that is queued ends.
	busy   time.Time
	slowed *delays[K]

	lost   float64
	random *clock.Random
}

// disturbed returns the loop's disturbances, which the first call creates.
func (l *typed[K]) disturbed() *disturbances[K] {
	d := &disturbances[K]{}
	d.slowed = newDelays(l.opts.Clock, l.queue.Add)
	if !l.disturbances.CompareAndSwap(nil, d) {
		return l.disturbances.Load()
	}
	return d
}

func (l *typed[K]) Pause() (resume func()) {
	d := l.disturbed()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused++
	return sync.OnceFunc(func() {
		d.mu.Lock()
		d.paused--
		var keys []K
		if d.paused == 0 {
			keys, d.kept = d.kept, nil
		}
		d.mu.Unlock()
		for _, key := range keys {
			l.queue.Add(key)
		}
	})
}

func (l *typed[K]) Slow(by time.Duration) (end func()) {
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

func (l *typed[K]) Lose(share float64, random *clock.Random) (end func()) {
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

// holds reports whether an added key is held back from the queue.
func (l *typed[K]) holds(key K) bool {
	d := l.disturbances.Load()
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.paused > 0:
		if !slices.Contains(d.kept, key) {
			d.kept = append(d.kept, key)
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

// held returns the keys that wait for the end of a Pause.
func (d *disturbances[K]) held() []K {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.kept)
}

// loses reports whether an event is dropped.
func (l *typed[K]) loses(ev Event) bool {
	d := l.disturbances.Load()
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	// Informers deliver concurrently: the random choice must not depend on their order.
	return d.lost > 0 && d.random.Keyed(ev.Type.String()+KeyOf(ev.Object).String()+ev.Object.GetResourceVersion()).Float64() < d.lost
}

func (l *typed[K]) stopDisturbances() {
	if d := l.disturbances.Load(); d != nil {
		d.slowed.stop()
	}
}
