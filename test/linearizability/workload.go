package linearizability

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/clock"
)

// Workload is a number of clients that read and write a few ConfigMaps. All fields are
// required, except where the zero value has a meaning.
type Workload struct {
	// Name distinguishes the keys of workloads on one cluster; empty: there is one.
	Name string
	// Endpoints are clients of the servers. Each request goes to any of them.
	Endpoints []kubernetes.Interface
	// Clients, Watchers and Keys are the numbers of clients, watchers and keys.
	Clients, Watchers, Keys int
	// Operations is the number of operations of each client; 0: until the context of Run ends.
	Operations int
	// Timeout is the time that a client waits for a response.
	Timeout time.Duration
	// Pause is the time between two operations of a client; 0: none.
	Pause time.Duration
	// Random decides what the clients do.
	Random *clock.Random
	// Before is called before each operation with its number; it may be nil.
	Before func(n int64)
}

// Record holds the observations of a workload's clients.
type Record struct {
	Operations []Operation
	Streams    []Stream
	// Refused counts the requests that certainly had no effect, Restarted the watches that ended
	// early.
	Refused, Restarted int
	// from and to are the revisions between which the history lies.
	from, to int64
}

// Unknown returns the number of operations with an unknown outcome.
func (r *Record) Unknown() (n int) {
	for _, o := range r.Operations {
		if o.Outcome == Unknown {
			n++
		}
	}
	return n
}

// Check judges the record.
func (r *Record) Check() error {
	return Check(r.Operations, r.Streams, covers(r.Streams, r.from, r.to))
}

// running is a workload that runs.
type running struct {
	Workload
	history *History
	keys    []string
	number  atomic.Int64

	mu sync.Mutex // guards Random
}

// Run makes the operations of a workload until their number is reached or ctx ends.
// Afterwards, until finish ends, the watches must catch up.
func (w Workload) Run(ctx, finish context.Context) (*Record, error) {
	r := &running{Workload: w, history: NewHistory()}
	for i := range w.Keys {
		r.keys = append(r.keys, fmt.Sprintf("%s%d", w.prefix(), i))
	}
	watchers := make([]*watcher, w.Watchers)
	begun := make(chan int64, w.Watchers)
	errs := make(chan error, w.Watchers)
	var watching, working sync.WaitGroup
	finish, cancel := context.WithCancel(finish)
	defer watching.Wait()
	defer cancel()
	for i := range watchers {
		watchers[i] = &watcher{name: fmt.Sprint(i), client: r.endpoint, prefix: w.prefix(), end: w.endKey()}
		watching.Go(func() { errs <- watchers[i].run(finish, func(from int64) { begun <- from }) })
	}
	record := &Record{}
	for range watchers {
		select {
		case from := <-begun:
			record.from = max(record.from, from)
		case <-finish.Done():
			return nil, fmt.Errorf("starting the watches: %w", finish.Err())
		}
	}
	for i := range w.Clients {
		working.Go(func() { r.work(ctx, i) })
	}
	working.Wait()
	var err error
	if record.to, err = r.end(finish); err != nil {
		return nil, err
	}
	for range watchers {
		err = errors.Join(err, <-errs)
	}
	for _, w := range watchers {
		record.Streams = append(record.Streams, w.streams...)
		record.Restarted += w.restarted
	}
	record.Operations, record.Refused = r.history.Operations()
	return record, err
}

// chance returns a number below n.
func (r *running) chance(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Random.IntN(n)
}

func (r *running) endpoint() kubernetes.Interface { return r.Endpoints[r.chance(len(r.Endpoints))] }

// work makes one client's operations.
func (r *running) work(ctx context.Context, client int) {
	known := map[string]int64{} // the keys' revisions that the client saw last
	for n := 0; ctx.Err() == nil && (r.Operations == 0 || n < r.Operations); n++ {
		number := r.number.Add(1)
		if r.Before != nil {
			r.Before(number)
		}
		r.one(ctx, client, number, known)
		if r.Pause > 0 {
			pause(ctx, r.Pause)
		}
	}
}

// one makes and records one operation.
func (r *running) one(ctx context.Context, client int, number int64, known map[string]int64) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	o := Operation{Client: client, Key: r.keys[r.chance(len(r.keys))]}
	value := fmt.Sprintf("%d", number)
	switch kind := r.chance(10); {
	case kind == 0:
		r.list(ctx, client)
		return
	case kind < 4:
		o.Verb = Get
	case known[o.Key] == 0:
		o.Verb, o.Value = Create, value
	case kind < 9:
		o.Verb, o.Value, o.Expected = Update, value, known[o.Key]
	default:
		o.Verb, o.Expected = Delete, known[o.Key]
	}
	o = r.do(ctx, o)
	switch {
	case o.Outcome == Done && o.Verb != Delete:
		known[o.Key] = o.Revision
	case o.Outcome == NotFound, o.Outcome == Done:
		delete(known, o.Key)
	case o.Outcome == Exists, o.Outcome == Conflict: // read it again
		got := r.do(ctx, Operation{Client: client, Verb: Get, Key: o.Key})
		known[o.Key] = got.Revision
	}
}

// do makes and records one operation. The outcome is empty if it had no effect.
func (r *running) do(ctx context.Context, o Operation) Operation {
	o.Call = r.history.Now()
	o, err := do(ctx, r.endpoint(), o)
	o.Return = r.history.Now()
	switch {
	case err != nil:
		r.history.Refuse()
		o.Outcome = ""
	case o.Outcome != Unknown:
		r.history.Add(o)
	case o.Verb != Get:
		o.Return = never
		r.history.Add(o)
	}
	return o
}

func (r *running) list(ctx context.Context, client int) {
	call := r.history.Now()
	observed, err := list(ctx, r.endpoint(), r.keys)
	if err != nil {
		r.history.Refuse()
		return
	}
	for i := range observed {
		observed[i].Client, observed[i].Call, observed[i].Return = client, call, r.history.Now()
	}
	r.history.Add(observed...)
}

// prefix returns the prefix of the workload's keys.
func (w *Workload) prefix() string { return "history-" + w.Name + "-" }

// endKey is created when all clients have ended.
func (w *Workload) endKey() string { return w.prefix() + "end" }

// end creates the last object, and returns its revision.
func (r *running) end(ctx context.Context) (int64, error) {
	for try := 0; ctx.Err() == nil; try++ {
		r.do(ctx, Operation{Client: r.Clients, Verb: Create, Key: r.endKey(), Value: fmt.Sprintf("end %d", try)})
		if got := r.do(ctx, Operation{Client: r.Clients, Verb: Get, Key: r.endKey()}); got.Outcome == Done {
			return got.Revision, nil
		}
		pause(ctx, retryAfter)
	}
	return 0, fmt.Errorf("ending the history: %w", ctx.Err())
}

// covers reports whether the streams together have all revisions after from, up to to.
func covers(streams []Stream, from, to int64) bool {
	for reached := true; reached && from < to; {
		reached = false
		for _, s := range streams {
			if s.From <= from && s.last() > from {
				from, reached = s.last(), true
			}
		}
	}
	return from >= to
}
