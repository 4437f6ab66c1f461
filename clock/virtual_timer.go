package clock

import (
	"container/heap"
	"slices"
	"time"

	utilclock "k8s.io/utils/clock"

	"minikcm.dev/minikcm/internal/inflight"
)

// virtualTimer is a timer or ticker of a Virtual. It is in one of four states: stopped, armed,
// queued (due, waiting for its turn), or offered on its channel. A ticker is also armed for
// its next tick while it is queued or offered.
type virtualTimer struct {
	clock  *Virtual
	period time.Duration  // of a ticker, otherwise 0
	f      func()         // of AfterFunc, otherwise nil
	ch     chan time.Time // unbuffered, so that a receipt is seen; nil with f

	// The fields below are guarded by the clock's mutex.
	due    int64 // nanoseconds since the clock's start
	order  uint64
	index  int // in the heap, -1 if not armed
	queued bool
	urgent bool         // queued, and does not wait for its turn
	work   inflight.Due // since it is queued or offered
	offer  *offer
}

// NewTimer returns a timer whose channel gets one value, d from now.
func (v *Virtual) NewTimer(d time.Duration) utilclock.Timer {
	t := v.newTimer(0, nil)
	t.arm(d)
	return t
}

// AfterFunc runs f, d from now. The timer's channel is nil, as with time.AfterFunc.
func (v *Virtual) AfterFunc(d time.Duration, f func()) utilclock.Timer {
	t := v.newTimer(0, f)
	t.arm(d)
	return t
}

// NewTicker returns a ticker. It panics if d <= 0, as time.NewTicker does.
func (v *Virtual) NewTicker(d time.Duration) utilclock.Ticker {
	if d <= 0 {
		panic("clock: non-positive interval for NewTicker")
	}
	t := v.newTimer(d, nil)
	t.arm(d)
	return virtualTicker{t}
}

// After returns the channel of a timer that cannot be stopped. If the channel is not read,
// time stops: see Virtual.
func (v *Virtual) After(d time.Duration) <-chan time.Time { return v.NewTimer(d).C() }

// Tick returns the channel of a ticker that cannot be stopped, or nil if d <= 0.
func (v *Virtual) Tick(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return v.NewTicker(d).C()
}

// Sleep returns d later. A caller that is counted in the ledger sleeps forever, because its own
// work holds the time; it has to use inflight.Sleep.
func (v *Virtual) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-v.After(d):
	case <-v.closed:
	}
}

func (v *Virtual) newTimer(period time.Duration, f func()) *virtualTimer {
	t := &virtualTimer{clock: v, period: period, f: f, index: -1}
	if f == nil {
		t.ch = make(chan time.Time)
	}
	return t
}

// virtualTicker hides Stop's result and Reset.
type virtualTicker struct{ t *virtualTimer }

func (t virtualTicker) C() <-chan time.Time { return t.t.ch }
func (t virtualTicker) Stop()               { t.t.Stop() }

// C returns the timer's channel.
func (t *virtualTimer) C() <-chan time.Time { return t.ch }

// Stop prevents the timer from firing. It returns true if the function has not started, or the
// value has not been received. No value can be received after Stop has returned, as with
// time.Timer since Go 1.23.
func (t *virtualTimer) Stop() bool {
	mu := &t.clock.mu
	mu.Lock()
	stopped := t.disarmLocked()
	o := t.offer
	t.offer = nil
	if o != nil {
		close(o.cancel)
	}
	mu.Unlock()
	if o != nil {
		<-o.ended
		stopped = stopped || !o.received
	}
	return stopped
}

// Reset makes the timer fire d from now, and reports what Stop would have.
func (t *virtualTimer) Reset(d time.Duration) bool {
	stopped := t.Stop()
	t.arm(d)
	return stopped
}

// arm starts the timer: it goes into the heap, or is due at once.
func (t *virtualTimer) arm(d time.Duration) {
	v := t.clock
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.isOpen {
		return
	}
	t.disarmLocked() // two Resets at once: the later one counts
	v.created++
	t.order = v.created
	now := v.now.Load()
	switch {
	case d > 0:
		t.due = later(now, d)
		heap.Push(&v.armed, t)
	case t.f != nil:
		t.due = now
		v.queueLocked(t, v.line.Due(Callback), true)
	default:
		// It bypasses the queue: the caller may be a timer function that the queue waits for.
		t.due = now
		t.work = v.line.Due(Tick)
		t.work.Fire()
		v.offerLocked(t)
	}
}

func (t *virtualTimer) disarmLocked() bool {
	switch {
	case t.queued:
		t.clock.unqueueLocked(t)
		if t.index >= 0 { // a ticker
			heap.Remove(&t.clock.armed, t.index)
		}
	case t.index >= 0:
		heap.Remove(&t.clock.armed, t.index)
	default:
		return false
	}
	return true
}

func (t *virtualTimer) kind() Kind {
	if t.f != nil {
		return Callback
	}
	return Tick
}

// timerHeap orders by due time, then by the order of creation.
type timerHeap []*virtualTimer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if h[i].due != h[j].due {
		return h[i].due < h[j].due
	}
	return h[i].order < h[j].order
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*virtualTimer)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.index = -1
	return t
}

// fireLocked moves the time to at, if nothing is in flight, and queues every timer that is due
// then. Otherwise idle is closed when it may be tried again.
func (v *Virtual) fireLocked(at int64) (fired bool, idle <-chan struct{}) {
	return v.line.Jump(at, func(due func(Kind) inflight.Due) {
		v.now.Store(at)
		for len(v.armed) > 0 && v.armed[0].due <= at {
			t := v.armed[0]
			v.queueLocked(t, due(t.kind()), false)
			if t.period == 0 {
				heap.Pop(&v.armed)
				continue
			}
			t.due = later(t.due, t.period)
			heap.Fix(&v.armed, 0)
		}
	})
}

func (v *Virtual) queueLocked(t *virtualTimer, work inflight.Due, urgent bool) {
	t.queued, t.urgent, t.work = true, urgent, work
	v.queue = append(v.queue, t)
	switch {
	case !v.running:
		v.running = true
		v.routine.Go(v.runQueue)
	case urgent:
		select {
		case v.urgent <- struct{}{}:
		default: // it has not seen the last one yet
		}
	}
}

// unqueueLocked removes a due timer from the queue and takes back its count.
func (v *Virtual) unqueueLocked(t *virtualTimer) {
	v.queue = slices.Delete(v.queue, slices.Index(v.queue, t), slices.Index(v.queue, t)+1)
	t.queued, t.urgent = false, false
	t.work.End()
}
