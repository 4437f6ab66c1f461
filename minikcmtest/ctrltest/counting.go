package ctrltest

import (
	"container/heap"
	"context"
	"fmt"
	"net/http"
	"sync"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/inflight"
)

// counts reports whether there is a worker for what is ready. Without one, nothing can
// be done about it before time passes.
func (q *queue[T]) counts() bool { return q.begun && !q.isClosed && q.paused < q.workers }

// push makes an item ready.
func (q *queue[T]) push(it *item[T]) {
	heap.Push(&q.ready, it)
	if q.counts() {
		q.count(it)
	}
}

// count gives an item a place in the line. When that is next, the item of the highest
// priority is handed out: the other one gets that one's ticket.
func (q *queue[T]) count(it *item[T]) {
	it.ticket = q.line.Join(fmt.Sprint(it.request), it)
}

// uncount is the reverse of count, except for an item that a worker is about to take.
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

// take hands out the best item, now that a ticket is next.
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

// swap gives holder, whose ticket was next, the one of best.
func (q *queue[T]) swap(holder, best *item[T]) {
	holder.ticket = best.ticket
	if holder.ticket != nil {
		holder.ticket.Value = holder
	} else if q.counts() {
		q.count(holder)
	}
}

// pausing returns a context for the work on a request, which may let time pass with
// inflight.Sleep, and be slowed down by faults of the API server. The request counts no
// longer as in flight then. done is called when the work has ended.
//
// If the worker was the last one, requests that are ready do not count either:
//
//	worker 1: a    reconciles a, which waits for a minute; a is not counted
//	      b added  would be counted, and no worker ever take it: the minute could not pass
//	      so b is counted from the end of a's minute on
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

// waits are those of one reconcile. It has paused as soon as one of its goroutines
// waits, as it is not known which others go on; so its requests are made one after the
// other (oneByOne), or else time could pass between two that were meant to be made at
// once.
type waits struct {
	pause, resume func()

	requests sync.Mutex // held by the request that is made

	mu    sync.Mutex
	depth int
	ended bool
}

type waitsKey struct{}

// oneByOne makes the requests of a reconcile one after the other.
type oneByOne struct{ next http.RoundTripper }

func (t oneByOne) RoundTrip(req *http.Request) (*http.Response, error) {
	if w, ok := req.Context().Value(waitsKey{}).(*waits); ok {
		w.requests.Lock()
		defer w.requests.Unlock()
	}
	return t.next.RoundTrip(req)
}

// WrappedRoundTripper lets client-go find the transport beneath.
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

// over is called when the reconcile has returned, whatever it has left behind.
func (w *waits) over() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.depth > 0 {
		w.resume()
	}
	w.ended = true
}
