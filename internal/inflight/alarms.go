package inflight

import (
	"container/heap"
	"sync"
	"time"

	utilclock "k8s.io/utils/clock"
)

// AlarmClock is the part of a clock that Alarms use.
type AlarmClock interface {
	utilclock.PassiveClock
	utilclock.WithDelayedExecution
}

// Alarms store one due time for each key, and call ring for the key at that time. They use a
// single timer of the clock, for the earliest due time. Waiting keys are not in flight; a key
// is in flight from its due time until ring has returned.
//
// It is an interface for the same reason as Queue.
type Alarms[K comparable] interface {
	// Set replaces the due time of k. The zero time removes it. After Close, Set does nothing.
	Set(k K, at time.Time)
	// Hasten sets the due time of k, unless k is due earlier. It reports whether it set it.
	Hasten(k K, at time.Time) bool
	// All returns the waiting keys and when they are due.
	All() map[K]time.Time
	// Len returns the number of waiting keys.
	Len() int
	// Close removes all alarms, and waits for a running callback.
	Close()
}

// alarms implements Alarms.
type alarms[K comparable] struct {
	clock AlarmClock
	ring  func(K)

	mu      sync.Mutex
	heap    alarmHeap[K]
	byKey   map[K]*alarm[K]
	armed   utilclock.Timer
	armedAt time.Time
	// generation distinguishes the callback of the armed timer from the callback of a replaced
	// timer that had already fired.
	generation int
	closed     bool
	callbacks  sync.WaitGroup
}

// NewAlarms returns alarms on c. ring may call Set and Hasten.
func NewAlarms[K comparable](c AlarmClock, ring func(K)) Alarms[K] {
	return &alarms[K]{clock: c, ring: ring, byKey: map[K]*alarm[K]{}}
}

func (t *alarms[K]) Set(k K, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setLocked(k, at)
}

func (t *alarms[K]) Hasten(k K, at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.byKey[k]; t.closed || a != nil && !at.Before(a.at) {
		return false
	}
	t.setLocked(k, at)
	return true
}

func (t *alarms[K]) setLocked(k K, at time.Time) {
	item := t.byKey[k]
	switch {
	case t.closed || item == nil && at.IsZero():
		return
	case at.IsZero():
		heap.Remove(&t.heap, item.index)
		delete(t.byKey, k)
	case item == nil:
		item = &alarm[K]{key: k, at: at}
		t.byKey[k] = item
		heap.Push(&t.heap, item)
	case item.at.Equal(at):
		return
	default:
		item.at = at
		heap.Fix(&t.heap, item.index)
	}
	t.armLocked()
}

// armLocked sets the timer for the earliest due time. A timer that is set too early stays set:
// it finds nothing due, and arms the next one.
func (t *alarms[K]) armLocked() {
	if len(t.heap) == 0 || t.closed {
		return
	}
	at := t.heap[0].at
	if t.armed != nil && !t.armedAt.After(at) {
		return
	}
	t.disarmLocked()
	t.generation++
	generation := t.generation
	t.armedAt = at
	t.callbacks.Add(1)
	t.armed = t.clock.AfterFunc(max(at.Sub(t.clock.Now()), 0), func() {
		defer t.callbacks.Done()
		t.expire(generation)
	})
}

func (t *alarms[K]) disarmLocked() {
	if t.armed != nil && t.armed.Stop() {
		t.callbacks.Done()
	}
	t.armed = nil
}

// expire rings the keys that are due. It counts them before it returns, so that a virtual clock
// does not move on in between.
func (t *alarms[K]) expire(generation int) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	if generation == t.generation {
		t.armed = nil
	}
	now := t.clock.Now()
	var due []K
	for len(t.heap) > 0 && !t.heap[0].at.After(now) {
		item := heap.Pop(&t.heap).(*alarm[K])
		delete(t.byKey, item.key)
		due = append(due, item.key)
	}
	t.armLocked()
	t.mu.Unlock()
	for _, k := range due {
		t.ring(k)
	}
}

func (t *alarms[K]) All() map[K]time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[K]time.Time, len(t.heap))
	for _, a := range t.heap {
		all[a.key] = a.at
	}
	return all
}

func (t *alarms[K]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.heap)
}

func (t *alarms[K]) Close() {
	t.mu.Lock()
	t.closed = true
	t.disarmLocked()
	t.mu.Unlock()
	t.callbacks.Wait()
}

// alarm is the due time of a key.
type alarm[K comparable] struct {
	key   K
	at    time.Time
	index int
}

// alarmHeap implements heap.Interface, earliest first.
type alarmHeap[K comparable] []*alarm[K]

func (h alarmHeap[K]) Len() int           { return len(h) }
func (h alarmHeap[K]) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h alarmHeap[K]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *alarmHeap[K]) Push(x any) {
	item := x.(*alarm[K])
	item.index = len(*h)
	*h = append(*h, item)
}

func (h *alarmHeap[K]) Pop() any {
	old := *h
	item := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return item
}
