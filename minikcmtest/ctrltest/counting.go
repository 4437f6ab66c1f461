package ctrltest

import (
	"container/heap"
	"context"
	"fmt"
	"net/http"
	"sync"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// counts reports whether ready requests count as in flight: only if a worker can take them.
// Without a free worker they wait until time passes, which counting them would prevent.
func (q *queue[T]) counts() bool { return q.begun && !q.isClosed && q.paused < q.workers }

// push adds an item to the ready ones.
func (q *queue[T]) push(it *item[T]) {
	heap.Push(&q.ready, it)
	if q.counts() {
		q.count(it)
	}
}

// count counts an item as in flight: it joins the line. When its ticket is granted, the queue
// hands out the item of the highest priority, and the two items swap their tickets.
func (q *queue[T]) count(it *item[T]) {
	it.ticket = q.line.Join(fmt.Sprint(it.request), it)
}

// uncount reverts count, unless the ticket is already granted to a worker.
func (q *queue[T]) uncount(it *item[T]) {
	if it.ticket.Withdraw() {
		it.ticket.End()
		it.ticket = nil
	}
}

func (q *queue[T]) countReady() {
	if !q.counts() {
		return
	}
	for _, it := range q.ready {
		if it.ticket == nil {
			q.count(it)
		}
	}
}

func (q *queue[T]) uncountReady() {
	for _, it := range q.ready {
		if it.ticket != nil {
			q.uncount(it)
		}
	}
}

// take hands out the item of the highest priority for a granted ticket.
func (q *queue[T]) take(ticket *inflight.Ticket[*item[T]]) (request T, priority int, shutdown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isClosed {
		ticket.End()
		return request, 0, true
	}
	best := heap.Pop(&q.ready).(*item[T])
	if holder := ticket.Value; holder != best {
		q.swap(holder, best)
	}
	delete(q.items, best.request)
	q.working[best.request] = ticket
	return best.request, best.priority, false
}

// swap gives the ticket of best to holder, whose own ticket was granted and goes to best.
func (q *queue[T]) swap(holder, best *item[T]) {
	holder.ticket = best.ticket
	if holder.ticket != nil {
		holder.ticket.Value = holder
	} else if q.counts() {
		q.count(holder)
	}
}

// pausing returns a context for the reconcile of a request. With it, inflight.Sleep and
// latency faults of the API server let time pass: meanwhile the request does not count as in
// flight. The caller calls done when the reconcile has returned.
//
// If all workers are paused, ready requests do not count either. With one worker:
//
//	T1  the worker reconciles a, which sleeps for a minute: a is not counted
//	T2  b is added; if it were counted, virtual time would wait for b, b for the worker,
//	    and the worker for virtual time: a deadlock. So b is not counted.
//	T3  a's minute is over: a is counted again, and so is b
func (q *queue[T]) pausing(ctx context.Context, request T) (working context.Context, done func()) {
	q.mu.Lock()
	ticket := q.working[request]
	q.mu.Unlock()
	w := &waits{
		pause:  func() { q.pause(ticket.Work()) },
		resume: func() { q.resume(ticket.Work()) },
	}
	ctx = context.WithValue(clock.OneByOne(ctx), waitsKey{}, w)
	return inflight.WithPauser(ctx, w), w.over
}

func (q *queue[T]) pause(work *inflight.Work) {
	q.mu.Lock()
	q.paused++
	if !q.counts() {
		q.uncountReady()
	}
	q.mu.Unlock()
	work.Pause()
}

func (q *queue[T]) resume(work *inflight.Work) {
	work.Resume()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.paused--
	q.countReady()
}

// waits tracks the pauses of one reconcile. The reconcile counts as paused while at least one
// of its goroutines waits, because the others are unknown. oneByOne therefore serializes its
// requests: otherwise a delay of one request could let time pass while another one, made at
// the same instant, is still under way.
type waits struct {
	pause, resume func()

	requests sync.Mutex // held during a request

	mu    sync.Mutex
	depth int
	ended bool
}

type waitsKey struct{}

// oneByOne serializes the requests of a reconcile.
type oneByOne struct{ next http.RoundTripper }

func (t oneByOne) RoundTrip(req *http.Request) (*http.Response, error) {
	if w, ok := req.Context().Value(waitsKey{}).(*waits); ok {
		w.requests.Lock()
		defer w.requests.Unlock()
	}
	return t.next.RoundTrip(req)
}

// WrappedRoundTripper lets client-go find the wrapped transport.
func (t oneByOne) WrappedRoundTripper() http.RoundTripper { return t.next }

// Pause implements inflight.Pauser.
func (w *waits) Pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.depth++
	if w.depth == 1 && !w.ended {
		w.pause()
	}
}

// Resume implements inflight.Pauser.
func (w *waits) Resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.depth--
	if w.depth == 0 && !w.ended {
		w.resume()
	}
}

// over ends the tracking when the reconcile has returned. Goroutines that the reconcile left
// behind no longer have an effect.
func (w *waits) over() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.depth > 0 {
		w.resume()
	}
	w.ended = true
}
