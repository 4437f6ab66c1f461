package inflight

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"
	utilclock "k8s.io/utils/clock"
)

// QueueOptions describe a Queue. The zero value of a field means what its comment says.
type QueueOptions[K comparable] struct {
	Ledger *Ledger
	// Kind is what a key counts as; 0: Key.
	Kind Kind
	// Name and KeyName distinguish a key from other work of the ledger: the order of turns
	// follows from them and the seed. KeyName nil: fmt.Sprint.
	Name    string
	KeyName func(K) string
	// Ahead has keys worked on at once where other work takes turns: for a queue whose
	// work something in flight waits for. Its order must not show in what it writes.
	Ahead bool
	// Settled reports of a key that no worker has whether there is nothing that the last
	// one has not seen; see Offer. Nil: there always is.
	Settled func(K) bool
	// MetricsName is the queue's name in client-go's work queue metrics; empty: it has
	// none. Metrics receives them; nil: the provider that client-go was given, if any.
	MetricsName string
	Metrics     workqueue.MetricsProvider
}

// Queue hands keys to workers. It is client-go's work queue, which has a key with at
// most one worker at a time, and merges what is added meanwhile into one more time. The
// ledger counts a key from its Add until its Done; where the ledger makes work take
// turns, a worker gets a key when its turn has come.
type Queue[K comparable] struct {
	opts  QueueOptions[K]
	line  *Line[*entry[K]]
	inner *workqueue.Typed[K]
	keys  *keys[K]
	// closed: what comes in is dropped.
	closed atomic.Bool
}

// NewQueue returns an empty queue.
func NewQueue[K comparable](opts QueueOptions[K]) *Queue[K] {
	if opts.Kind == 0 {
		opts.Kind = Key
	}
	if opts.KeyName == nil {
		opts.KeyName = nameOf[K]
	}
	if opts.Settled == nil {
		opts.Settled = func(K) bool { return false }
	}
	q := &Queue[K]{opts: opts, line: NewLine[*entry[K]](opts.Ledger, opts.Kind, opts.Name)}
	if opts.Ahead {
		q.line.turns = false
	}
	q.keys = &keys[K]{line: q.line, name: opts.KeyName, entries: map[K]*entry[K]{}}
	// The queue uses its clock for metrics only, whose histograms measure how long the
	// machine took: a ticker on a virtual clock would also wake it twice a second for
	// nothing.
	q.inner = workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[K]{
		Name: opts.MetricsName, MetricsProvider: opts.Metrics, Clock: utilclock.RealClock{}, Queue: q.keys,
	})
	return q
}

// nameOf is fmt.Sprint for keys that know their text.
func nameOf[K comparable](key K) string {
	if named, ok := any(key).(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprint(key)
}

// TakesTurns reports whether keys wait for their turn. Then one worker has one at a
// time.
func (q *Queue[K]) TakesTurns() bool { return q.line.turns }

// Add has a worker look after key. After Close or Drain it does nothing.
func (q *Queue[K]) Add(key K) { q.inner.Add(key) }

// Offer is Add unless Settled says that key needs no worker; it is asked when none has
// the key. It is for what the API delivers, which most often is the echo of what a
// key's worker has written. Whether that comes before the worker has the answer to its
// write is chance, which must not decide about turns:
//
//	the worker             Offer(key)           Done(key)
//	writes the status
//	                       key is with a worker: noted
//	gets the answer
//	                                            Settled: yes, no turn
//
// And if the echo comes late, Offer asks Settled itself, with the same answer.
func (q *Queue[K]) Offer(key K) {
	if q.keys.offered(key) && !q.opts.Settled(key) {
		q.inner.Add(key)
	}
}

// Len returns how many keys wait for a worker.
func (q *Queue[K]) Len() int { return q.inner.Len() }

// Get waits for a key, which has to be given back by Done. work is what counts the key
// until then. ok is false when there is none and ctx has ended, or the queue is closed.
func (q *Queue[K]) Get(ctx context.Context) (key K, work *Work, ok bool) {
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

// Done gives a key back. The ledger still counts it while the queue may take it in
// again, so that the count never passes through zero.
func (q *Queue[K]) Done(key K) {
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

// Close drops what waits for a worker, and lets every Get return.
func (q *Queue[K]) Close() {
	q.closed.Store(true)
	q.line.Close()
	q.inner.ShutDown()
	q.drop()
}

// drop gives back what waits, after a ShutDown.
func (q *Queue[K]) drop() {
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

// Drain takes nothing more in, lets what waits be worked on without turns, in the order
// of Add, and lets Get return when all is.
func (q *Queue[K]) Drain() {
	q.inner.ShutDown()
	for _, e := range q.keys.drain() {
		e.ticket.Hurry()
	}
	q.line.Close()
}

// Run lets workers work until the queue is closed, or drained, or ctx ends, and returns
// when all have ended. do is called with a context whose work can pause (With) where
// keys take turns. There one worker works at a time. One that pauses cannot work on
// others' keys, whose turns come meanwhile, so it gets a substitute:
//
//	worker 1            worker 2            the ledger
//	Get: a                                  1 key runs, b waits
//	Sleep: pause        started             b waits
//	                    Get: b              1 key runs
//	                    Done(b)             0
//	resumed             Get waits           1 key runs
//	Done(a), ends       Get: c
//
// Worker 1 ends with a, or else there would be two from then on.
func (q *Queue[K]) Run(ctx context.Context, workers int, do func(ctx context.Context, key K)) {
	if q.TakesTurns() {
		workers = 1
	}
	var running sync.WaitGroup
	var start func()
	start = func() {
		running.Go(func() {
			for q.next(ctx, do, start) {
			}
		})
	}
	for range workers {
		start()
	}
	running.Wait()
}

// next works on one key; false if there is none for this worker any more.
func (q *Queue[K]) next(ctx context.Context, do func(ctx context.Context, key K), substitute func()) bool {
	key, work, ok := q.Get(ctx)
	if !ok {
		return false
	}
	defer q.Done(key)
	if q.TakesTurns() && work != nil {
		work.substitute = substitute
		ctx = With(ctx, work)
	}
	do(ctx, key)
	return !work.wasReplaced()
}
