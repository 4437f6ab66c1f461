package kubeletsim

import (
	"container/heap"
	"sync"
	"time"

	utilclock "k8s.io/utils/clock"

	"minikcm.dev/minikcm/clock"
)

// timers remembers for each key the one time at which it is due, and calls fire
// for it then. However many keys wait, one timer of the clock is armed: for the
// earliest of them.
type timers struct {
	clock clock.Clock
	fire  func(key)

	mu      sync.Mutex
	heap    dueHeap
	byKey   map[key]*dueItem
	armed   utilclock.Timer
	armedAt time.Time
	// generation tells a callback of the armed timer from one that was replaced
	// while it was already on its way.
	generation int
	closed     bool
	callbacks  sync.WaitGroup
}

func newTimers(c clock.Clock, fire func(key)) *timers {
	return &timers{clock: c, fire: fire, byKey: map[key]*dueItem{}}
}

// set makes k due at the given time, in place of any earlier wish; the zero time
// makes it due never.
func (t *timers) set(k key, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	item := t.byKey[k]
	switch {
	case t.closed || item == nil && at.IsZero():
		return
	case at.IsZero():
		heap.Remove(&t.heap, item.index)
		delete(t.byKey, k)
	case item == nil:
		item = &dueItem{key: k, at: at}
		t.byKey[k] = item
		heap.Push(&t.heap, item)
	case item.at.Equal(at):
		return
	default:
		item.at = at
		heap.Fix(&t.heap, item.index)
	}
	t.arm()
}

// arm is called with the lock held. A timer that is armed too early stays: it
// finds nothing due and arms the next.
func (t *timers) arm() {
	if len(t.heap) == 0 || t.closed {
		return
	}
	at := t.heap[0].at
	if t.armed != nil && !t.armedAt.After(at) {
		return
	}
	t.disarm()
	t.generation++
	generation := t.generation
	t.armedAt = at
	t.callbacks.Add(1)
	t.armed = t.clock.AfterFunc(max(at.Sub(t.clock.Now()), 0), func() {
		defer t.callbacks.Done()
		t.expire(generation)
	})
}

func (t *timers) disarm() {
	if t.armed != nil && t.armed.Stop() {
		t.callbacks.Done()
	}
	t.armed = nil
}

// expire fires what is due. The keys are handed over before it returns, so that a
// virtual clock does not move on in between.
func (t *timers) expire(generation int) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	if generation == t.generation {
		t.armed = nil
	}
	now := t.clock.Now()
	var due []key
	for len(t.heap) > 0 && !t.heap[0].at.After(now) {
		item := heap.Pop(&t.heap).(*dueItem)
		delete(t.byKey, item.key)
		due = append(due, item.key)
	}
	t.arm()
	t.mu.Unlock()
	for _, k := range due {
		t.fire(k)
	}
}

// close disarms the timer and waits for a callback that is running.
func (t *timers) close() {
	t.mu.Lock()
	t.closed = true
	t.disarm()
	t.mu.Unlock()
	t.callbacks.Wait()
}

type dueItem struct {
	key   key
	at    time.Time
	index int
}

// dueHeap implements heap.Interface, earliest first.
type dueHeap []*dueItem

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *dueHeap) Push(x any) {
	item := x.(*dueItem)
	item.index = len(*h)
	*h = append(*h, item)
}

func (h *dueHeap) Pop() any {
	old := *h
	item := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return item
}
