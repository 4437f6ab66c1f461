package ctrltest

import (
	"container/heap"
	"context"
	"fmt"
	"net/http"
	"sync"

	"minikcm.dev/minikcm/clock"
)

// ticket is a place in the ledger's line. It belongs to an item of a queue, but when
// its turn comes the item of the highest priority is handed out: the other one gets
// that one's ticket.
type ticket[T comparable] struct {
	turn *clock.Turn
	item *item[T]
}

// counts reports whether there is a worker for what is ready. Without one, nothing can
// be done about it before time passes.
func (q *queue[T]) counts() bool { return q.begun && !q.isClosed && q.paused < q.workers }

// push makes an item ready.
func (q *queue[T]) push(it *item[T]) {
	heap.Push(&q.ready, it)
	if q.counts() {
		q.count(it)
	}
	q.added.Signal()
}

func (q *queue[T]) count(it *item[T]) {
	it.counted = true
	if !q.turns {
		q.ledger.Begin(clock.Key, 1)
		return
	}
	own := &ticket[T]{item: it}
	it.ticket = own
	own.turn = q.ledger.Join(clock.Key, q.name, fmt.Sprint(it.request), func() { q.granted <- own })
}

// uncount is the reverse of count, except for an item whose turn has been granted: a
// worker is about to take it.
func (q *queue[T]) uncount(it *item[T]) {
	if q.turns && !it.ticket.turn.Take() {
		return
	}
	it.counted, it.ticket = false, nil
	q.ledger.End(clock.Key, 1)
}

func (q *queue[T]) countReady() {
	if !q.counts() {
		return
	}
	for _, it := range q.ready {
		if !it.counted {
			q.count(it)
		}
	}
}

func (q *queue[T]) uncountReady() {
	for _, it := range q.ready {
		if it.counted {
			q.uncount(it)
		}
	}
}

// take hands out the next item, now that a ticket's turn has come.
func (q *queue[T]) take(granted *ticket[T]) (request T, priority int, shutdown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isClosed {
		q.ledger.End(clock.Key, 1)
		return request, 0, true
	}
	next, holder := heap.Pop(&q.ready).(*item[T]), granted.item
	if next != holder {
		q.swap(holder, next)
	}
	return q.handOut(next)
}

// swap gives holder, whose turn has been granted to next, the ticket of next.
func (q *queue[T]) swap(holder, next *item[T]) {
	holder.counted, holder.ticket = next.counted, next.ticket
	if holder.counted {
		holder.ticket.item = holder
	} else if q.counts() {
		q.count(holder)
	}
}

// pausing returns a context for the work on one request, which may let time pass with
// clock.Sleep, and be slowed down by faults of the API server. The request counts no
// longer as in flight then. done is called when the work has ended.
//
// If the worker was the last one, requests that are ready do not count either:
//
//	worker 1: a    reconciles a, which waits for a minute; a is not counted
//	      b added  would be counted, and no worker ever take it: the minute could not pass
//	      so b is counted from the end of a's minute on
func (q *queue[T]) pausing(ctx context.Context) (working context.Context, done func()) {
	w := &waits{}
	ctx = context.WithValue(clock.OneByOne(ctx), waitsKey{}, w)
	working = clock.PausingWith(ctx,
		func() { w.begin(q.pause) },
		func() { w.end(q.resume) })
	return working, func() { w.over(q.resume) }
}

func (q *queue[T]) pause() {
	q.mu.Lock()
	q.paused++
	if !q.counts() {
		q.uncountReady()
	}
	q.mu.Unlock()
	q.ledger.End(clock.Key, 1)
}

func (q *queue[T]) resume() {
	q.ledger.Begin(clock.Key, 1)
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

func (w *waits) begin(pause func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.depth++
	if w.depth == 1 && !w.ended {
		pause()
	}
}

func (w *waits) end(resume func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.depth--
	if w.depth == 0 && !w.ended {
		resume()
	}
}

// over is called when the reconcile has returned, whatever it has left behind.
func (w *waits) over(resume func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.depth > 0 {
		resume()
	}
	w.ended = true
}
