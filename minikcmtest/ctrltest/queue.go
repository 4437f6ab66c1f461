package ctrltest

import (
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	utilclock "k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/cause"
	"minikcm.dev/minikcm/clock/inflight"
)

// queue is a controller's work queue on the cluster's clock. It guarantees:
//
//   - A request is worked on by one worker at a time; adds that come meanwhile are
//     merged into one further reconcile.
//   - Of the requests that are ready, one of the highest priority is next; among these,
//     one that became ready in an earlier turn. Within a turn, the seed decides.
//   - The ledger counts a request from the moment it is ready until Done, except while
//     every worker waits for time to pass: nothing can be done about it then.
//   - Delays end by AfterFunc of the cluster's clock.
//
// Prioritized is the behaviour of controller-runtime's priority queue: a request exists
// once, and one that is ready waits for no delay any more. Otherwise it is that of
// client-go's rate limiting queue: there are no priorities, and a delay ends whether the
// request was worked on meanwhile or not.
type queue[T comparable] struct {
	queueOptions[T]
	// line has a ticket for each item that is ready and counted.
	line   *inflight.Line[*item[T]]
	begin  sync.Once
	causes cause.ByKey[T] // of the requests

	mu       sync.Mutex
	items    map[T]*item[T]                   // that are to be worked on
	ready    readyItems[T]                    // those of items that no worker has
	waiting  map[T]*alarm                     // for a time
	working  map[T]*inflight.Ticket[*item[T]] // handed out and not Done
	adds     uint64
	begun    bool
	isClosed bool
	paused   int // workers that wait for time to pass
}

var _ priorityqueue.PriorityQueue[string] = &queue[string]{}

// alarm is a request that waits for a time.
type alarm struct {
	due      time.Time
	priority int
	timer    utilclock.Timer
}

type queueOptions[T comparable] struct {
	// name tells the queue from others of the ledger.
	name        string
	clock       clock.Clock
	ledger      *clock.Ledger
	limiter     workqueue.TypedRateLimiter[T]
	workers     int
	prioritized bool
	// onWork is called when the first worker asks for a request, or none ever will.
	onWork func()
}

func newQueue[T comparable](opts queueOptions[T]) *queue[T] {
	opts.workers = max(opts.workers, 1)
	q := &queue[T]{
		queueOptions: opts,
		line:         inflight.NewLine[*item[T]](opts.ledger, inflight.Key, opts.name),
		items:        map[T]*item[T]{}, waiting: map[T]*alarm{}, working: map[T]*inflight.Ticket[*item[T]]{},
	}
	return q
}

// Add queues a request at once.
func (q *queue[T]) Add(request T) { q.AddWithOpts(priorityqueue.AddOpts{}, request) }

// AddAfter queues a request when after of the cluster's time has passed.
func (q *queue[T]) AddAfter(request T, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, request)
}

// AddRateLimited queues a request when the rate limiter says so.
func (q *queue[T]) AddRateLimited(request T) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, request)
}

// AddWithOpts queues requests. A queue that has been shut down takes none.
func (q *queue[T]) AddWithOpts(opts priorityqueue.AddOpts, requests ...T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isClosed {
		return
	}
	priority := 0
	if q.prioritized && opts.Priority != nil {
		priority = *opts.Priority
	}
	for _, request := range requests {
		after := opts.After
		if opts.RateLimited {
			if limited := q.limiter.When(request); after == 0 || limited < after {
				after = limited
			}
		}
		if after > 0 {
			q.delay(request, priority, after)
		} else {
			q.addNow(request, priority)
		}
	}
}

func (q *queue[T]) addNow(request T, priority int) {
	if waits := q.waiting[request]; waits != nil && q.prioritized {
		priority = max(priority, waits.priority)
		q.cancel(request)
	}
	it := q.items[request]
	switch {
	case it == nil:
		it = &item[T]{request: request, index: -1}
		q.items[request] = it
		q.place(it, priority)
		if _, busy := q.working[request]; !busy {
			q.push(it)
		}
	case priority > it.priority:
		q.place(it, priority)
		if it.index >= 0 {
			heap.Fix(&q.ready, it.index)
		}
	}
}

// place puts an item behind the others of its priority.
func (q *queue[T]) place(it *item[T], priority int) {
	it.priority, it.place, it.number = priority, q.ledger.PlaceOf(q.name, fmt.Sprint(it.request)), q.adds
	q.adds++
}

// delay lets a request wait, for the shorter time if it waits already.
func (q *queue[T]) delay(request T, priority int, after time.Duration) {
	if q.prioritized && q.items[request] != nil {
		q.addNow(request, priority) // it is ready, and may gain priority
		return
	}
	due := q.clock.Now().Add(after)
	if waits := q.waiting[request]; waits != nil {
		priority = max(priority, waits.priority)
		if !due.Before(waits.due) {
			waits.priority = priority
			return
		}
		q.cancel(request)
	}
	a := &alarm{due: due, priority: priority}
	q.waiting[request] = a
	a.timer = q.clock.AfterFunc(after, func() { q.ring(request, a) })
}

// cancel forgets a delay. A timer that fires all the same finds that it is not the
// current one.
func (q *queue[T]) cancel(request T) {
	q.waiting[request].timer.Stop()
	delete(q.waiting, request)
}

func (q *queue[T]) ring(request T, a *alarm) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isClosed || q.waiting[request] != a {
		return
	}
	delete(q.waiting, request)
	q.addNow(request, a.priority)
}

// Get waits for a request; shutdown when there will be none any more.
func (q *queue[T]) Get() (request T, shutdown bool) {
	request, _, shutdown = q.GetWithPriority()
	return request, shutdown
}

// GetWithPriority is Get with the request's priority.
func (q *queue[T]) GetWithPriority() (request T, priority int, shutdown bool) {
	q.begin.Do(q.open)
	ticket, ok := q.line.Next(context.Background()) // until ShutDown
	if !ok {
		return request, 0, true
	}
	return q.take(ticket)
}

// open counts what was added before there was anybody to work on it.
func (q *queue[T]) open() {
	q.mu.Lock()
	q.begun = true
	q.countReady()
	q.mu.Unlock()
	q.onWork()
}

// Done hands a request back. The ledger still counts it while the queue makes it ready
// again, so that the count never passes through zero.
func (q *queue[T]) Done(request T) {
	q.mu.Lock()
	ticket := q.working[request]
	delete(q.working, request)
	if again := q.items[request]; again != nil {
		q.push(again)
	}
	q.mu.Unlock()
	if ticket != nil {
		ticket.End()
	}
}

// Forget ends a request's back-off.
func (q *queue[T]) Forget(request T) { q.limiter.Forget(request) }

// NumRequeues is how often a request was limited since it was forgotten.
func (q *queue[T]) NumRequeues(request T) int { return q.limiter.NumRequeues(request) }

// Len is the number of requests that are to be worked on and do not wait for a time.
func (q *queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items)
}

// ShutDown drops what is queued and lets every Get return.
func (q *queue[T]) ShutDown() {
	defer q.onWork()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isClosed {
		return
	}
	q.uncountReady()
	q.isClosed = true
	for request := range q.waiting {
		q.cancel(request)
	}
	q.line.Close()
}

// ShutDownWithDrain is ShutDown: controller-runtime drains no queue.
func (q *queue[T]) ShutDownWithDrain() { q.ShutDown() }

// ShuttingDown reports whether the queue has been shut down.
func (q *queue[T]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.isClosed
}
