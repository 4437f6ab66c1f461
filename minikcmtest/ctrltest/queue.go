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
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/inflight"
)

// queue is a controller's work queue on the cluster's clock. It guarantees:
//
//   - At most one worker has a request. Adds of the request during that time are merged
//     into one further reconcile.
//   - Of the ready requests, the one of the highest priority is next. Among these it is the
//     one that became ready in the earliest turn. Within a turn, the seed decides.
//   - A request counts as in flight from the moment it is ready until Done, except while
//     every worker is paused: then it could not be worked on before time passes.
//   - Delays use AfterFunc of the cluster's clock.
//
// A prioritized queue behaves as controller-runtime's priority queue: adding a request makes
// it ready and cancels its delay, and delaying a ready request does nothing. Otherwise the
// queue behaves as client-go's rate limiting queue: it has no priorities, and a delayed
// request becomes ready after its delay even if it was worked on meanwhile.
type queue[T comparable] struct {
	queueOptions[T]
	// line has a ticket for each item that is ready and counted.
	line   *inflight.Line[*item[T]]
	begin  sync.Once
	causes cause.ByKey[T] // the causes of the requests

	mu       sync.Mutex
	items    map[T]*item[T]                   // the requests to work on
	ready    readyItems[T]                    // the items whose requests no worker has
	waiting  map[T]*alarm                     // the delayed requests
	working  map[T]*inflight.Ticket[*item[T]] // handed out and not Done
	adds     uint64
	begun    bool // whether a worker has called Get
	isClosed bool
	paused   int // the number of workers that wait for time to pass
}

var _ priorityqueue.PriorityQueue[string] = &queue[string]{}

// alarm is the delay of a request.
type alarm struct {
	due      time.Time
	priority int
	timer    utilclock.Timer
}

type queueOptions[T comparable] struct {
	// name identifies the queue in the ledger.
	name        string
	clock       clock.Clock
	ledger      *clock.Ledger
	limiter     workqueue.TypedRateLimiter[T]
	workers     int
	prioritized bool
	// onWork is called when the first worker calls Get, and when the queue shuts down.
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

// AddAfter queues a request after a delay on the cluster's clock.
func (q *queue[T]) AddAfter(request T, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, request)
}

// AddRateLimited queues a request after the rate limiter's delay.
func (q *queue[T]) AddRateLimited(request T) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, request)
}

// AddWithOpts queues requests. It does nothing after ShutDown.
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

// place puts an item behind the other items of its priority.
func (q *queue[T]) place(it *item[T], priority int) {
	it.priority, it.place, it.number = priority, q.ledger.PlaceOf(q.name, fmt.Sprint(it.request)), q.adds
	q.adds++
}

// delay delays a request. If it is delayed already, the earlier time applies.
func (q *queue[T]) delay(request T, priority int, after time.Duration) {
	if q.prioritized && q.items[request] != nil {
		q.addNow(request, priority) // it stays ready, but its priority may rise
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

// cancel cancels a delay. If its timer fires nevertheless, ring finds that the alarm is not
// the current one.
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

// Get waits for a request. shutdown is true after ShutDown.
func (q *queue[T]) Get() (request T, shutdown bool) {
	request, _, shutdown = q.GetWithPriority()
	return request, shutdown
}

// GetWithPriority is Get that also returns the request's priority.
func (q *queue[T]) GetWithPriority() (request T, priority int, shutdown bool) {
	q.begin.Do(q.open)
	ticket, ok := q.line.Next(context.Background()) // ends with ShutDown
	if !ok {
		return request, 0, true
	}
	return q.take(ticket)
}

// open counts the requests that were added before the first worker called Get.
func (q *queue[T]) open() {
	q.mu.Lock()
	q.begun = true
	q.countReady()
	q.mu.Unlock()
	q.onWork()
}

// Done ends the work on a request. If the request was added meanwhile, it becomes ready and
// counted before its ticket ends, so that the ledger never reaches zero in between.
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

// Forget resets a request's back-off.
func (q *queue[T]) Forget(request T) { q.limiter.Forget(request) }

// NumRequeues returns how often a request was rate limited since the last Forget.
func (q *queue[T]) NumRequeues(request T) int { return q.limiter.NumRequeues(request) }

// Len returns the number of requests to work on, without delayed ones.
func (q *queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items)
}

// ShutDown drops all queued requests and lets every Get return.
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
