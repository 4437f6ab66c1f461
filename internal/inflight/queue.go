package inflight

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"
	utilclock "k8s.io/utils/clock"
)

// QueueOptions configure a Queue. The comment of each field gives its default.
type QueueOptions[K comparable] struct {
	Ledger *Ledger
	// Kind is the kind of work that a key counts as; 0: Key.
	Kind Kind
	// Name and KeyName distinguish a key from other work of the ledger: the order of turns
	// follows from them and the seed. KeyName nil: fmt.Sprint.
	Name    string
	KeyName func(K) string
	// Ahead makes keys ready at once where other work takes turns. It is for a queue that
	// other work in flight waits for. The order of its keys must not affect what it writes.
	Ahead bool
	// First makes the turns of keys come before the turns of other work. It is for a queue whose
	// work others depend on, such as reading which kinds exist.
	First bool
	// Settled reports whether the last worker of a key, which no worker has now, has seen the
	// current state; see Offer. Nil: never.
	Settled func(K) bool
	// MetricsName is the queue's name in client-go's work queue metrics; empty: no metrics.
	// Metrics receives them; nil: client-go's global provider, if one is set.
	MetricsName string
	Metrics     workqueue.MetricsProvider
}

// Queue distributes keys to workers. It is client-go's work queue: at most one worker has a key,
// and all Adds in the meantime are merged into one more round. The ledger counts a key from Add
// until Done. If work takes turns, a worker gets a key when its turn has come.
//
// It is an interface because the compiler instantiates a generic struct, with all its methods, in each package
// that reads it (docs/decisions/0062-what-importers-compile.md).
type Queue[K comparable] interface {
	// TakesTurns reports whether keys wait for turns. Only one worker is active then.
	TakesTurns() bool
	// Add queues key for a worker. After Close or Drain it does nothing.
	Add(key K)
	// Offer is Add, unless Settled returns true for the key. Settled is called when no worker has
	// the key. Offer is for informer events, most of which are echoes of the key's own writes.
	// Whether an echo arrives before or after the response to the write depends on the machine,
	// which must not influence the turns:
	//
	//	the worker             Offer(key)                   Done(key)
	//	writes the status
	//	                       a worker has key: recorded
	//	gets the response
	//	                                                    Settled: true, no turn
	//
	// If the echo arrives after Done, Offer calls Settled itself, with the same result.
	Offer(key K)
	// Len returns the number of keys that wait for a worker.
	Len() int
	// Waiting returns the first keys that wait for a worker, in the order in which they were added,
	// at most limit, and the number of all.
	Waiting(limit int) (keys []K, count int)
	// IsWaiting reports whether a key waits for a worker.
	IsWaiting(key K) bool
	// Get waits for a key, which the caller has to return with Done. work counts the key until then.
	// ok is false if no key is ready and ctx has ended or the queue is closed.
	Get(ctx context.Context) (key K, work *Work, ok bool)
	// Done returns a key. The ledger counts the key until the queue has decided whether to queue it
	// again, so that the count does not drop to zero in between.
	Done(key K)
	// Close drops the waiting keys, and makes every Get return.
	Close()
	// Drain accepts no further keys. The waiting keys are processed without turns, in the order of
	// Add; then Get returns.
	Drain()
	// Run processes keys with at most workers at a time until the queue is closed or drained, or ctx
	// ends. It returns when all workers have ended. A worker that takes a key starts another one, which
	// waits for the next: a queue without keys has one goroutine. If keys take turns, one worker is active at a time, and do gets a
	// context whose work can pause (With). A paused worker cannot process the keys whose turns come
	// meanwhile, so it gets a substitute:
	//
	//	worker 1            worker 2            the ledger
	//	Get: a                                  1 key runs, b waits
	//	Sleep: pause        started             b waits
	//	                    Get: b              1 key runs
	//	                    Done(b)             0
	//	resumed             Get waits           1 key runs
	//	Done(a), ends       Get: c
	//
	// Worker 1 ends after a; otherwise two workers would remain.
	Run(ctx context.Context, workers int, do func(ctx context.Context, key K))
}

// queue implements Queue.
type queue[K comparable] struct {
	opts  QueueOptions[K]
	line  *Line[*entry[K]]
	inner *workqueue.Typed[K]
	keys  *keys[K]
	// closed means that Add drops keys.
	closed atomic.Bool
}

// NewQueue returns an empty queue.
func NewQueue[K comparable](opts QueueOptions[K]) Queue[K] {
	if opts.Kind == 0 {
		opts.Kind = Key
	}
	if opts.KeyName == nil {
		opts.KeyName = nameOf[K]
	}
	if opts.Settled == nil {
		opts.Settled = func(K) bool { return false }
	}
	name := opts.Name
	if opts.First {
		name = First
	}
	q := &queue[K]{opts: opts, line: NewLine[*entry[K]](opts.Ledger, opts.Kind, name)}
	if opts.Ahead {
		q.line.turns, q.line.ahead = false, true
	}
	q.keys = &keys[K]{line: q.line, name: opts.KeyName, entries: map[K]*entry[K]{}}
	// The queue uses its clock only for metrics, which measure the machine's time. A ticker on
	// a virtual clock would also wake it twice a second without need.
	q.inner = workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[K]{
		Name: opts.MetricsName, MetricsProvider: opts.Metrics, Clock: utilclock.RealClock{}, Queue: q.keys, //verify:allow the metrics of a queue measure the machine's time
	})
	return q
}

// nameOf returns the text of a key: its String method, or fmt.Sprint.
func nameOf[K comparable](key K) string {
	if named, ok := any(key).(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprint(key)
}

func (q *queue[K]) TakesTurns() bool { return q.line.turns }

func (q *queue[K]) Add(key K) { q.inner.Add(key) }

func (q *queue[K]) Offer(key K) {
	if q.keys.offered(key) && !q.opts.Settled(key) {
		q.inner.Add(key)
	}
}

func (q *queue[K]) Len() int { return q.inner.Len() }

func (q *queue[K]) Waiting(limit int) (keys []K, count int) { return q.keys.waiting(limit) }

func (q *queue[K]) IsWaiting(key K) bool { return q.keys.isWaiting(key) }

func (q *queue[K]) Get(ctx context.Context) (key K, work *Work, ok bool) {
	ticket, ok := q.line.Next(ctx)
	if !ok {
		return key, nil, false
	}
	q.keys.grant(ticket.Value)
	key, shutdown := q.inner.Get()
	if shutdown {
		return key, nil, false // Close has dropped it meanwhile
	}
	if key == ticket.Value.key { // else two workers have exchanged theirs
		return key, ticket.Work(), true
	}
	return key, q.keys.work(key), true
}

func (q *queue[K]) Done(key K) {
	e := q.keys.forget(key)
	q.inner.Done(key)
	if e.offered && !q.opts.Settled(key) {
		q.inner.Add(key)
	}
	e.ticket.End()
	if q.closed.Load() {
		q.drop() // it had been added meanwhile
	}
}

func (q *queue[K]) Close() {
	q.closed.Store(true)
	q.line.Close()
	q.inner.ShutDown()
	q.drop()
}

// drop ends the waiting keys after a ShutDown.
func (q *queue[K]) drop() {
	for {
		key, shutdown := q.inner.Get()
		if shutdown {
			return
		}
		e := q.keys.forget(key)
		q.inner.Done(key)
		e.ticket.End()
	}
}

func (q *queue[K]) Drain() {
	q.inner.ShutDown()
	for _, e := range q.keys.drain() {
		e.ticket.Hurry()
	}
	q.line.Close()
}

func (q *queue[K]) Run(ctx context.Context, workers int, do func(ctx context.Context, key K)) {
	if q.TakesTurns() {
		workers = 1
	}
	var running sync.WaitGroup
	c := &crew{most: workers}
	c.start = func() {
		running.Go(func() {
			defer c.left()
			for c.wait(q.line.hasReady()) && q.next(ctx, do, c) {
			}
		})
	}
	c.substitute = c.add
	c.add()
	running.Wait()
}

// next processes one key; it returns false if the worker has to end.
func (q *queue[K]) next(ctx context.Context, do func(ctx context.Context, key K), c *crew) bool {
	key, work, ok := q.Get(ctx)
	c.waited(ok)
	if !ok {
		return false
	}
	defer q.Done(key)
	if q.TakesTurns() && work != nil {
		work.substitute = c.substitute
		ctx = With(ctx, work)
	}
	do(ctx, key)
	return !work.wasReplaced()
}
