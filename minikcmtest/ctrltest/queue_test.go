package ctrltest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// bench is a queue whose workers record the requests they get.
type bench struct {
	*queue[string]
	virtual *clock.Virtual
	begin   time.Time
	works   chan struct{} // closed when a worker has called Get

	mu   sync.Mutex
	seen []string
	done sync.WaitGroup
}

func newBench(prioritized bool) *bench {
	ledger := clock.NewLedger()
	ledger.TakeTurns(1, false)
	b := &bench{virtual: clock.NewVirtual(time.Unix(0, 0), ledger), begin: time.Unix(0, 0), works: make(chan struct{})}
	b.queue = newQueue(queueOptions[string]{
		name: "bench", clock: b.virtual, ledger: ledger, workers: 1, prioritized: prioritized, onWork: sync.OnceFunc(func() { close(b.works) }),
		limiter: workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute),
	})
	return b
}

// work starts a worker that calls do for each request, and returns when a worker has called
// Get.
func (b *bench) work(do func(request string)) {
	b.done.Go(func() {
		for {
			request, _, shutdown := b.GetWithPriority()
			if shutdown {
				return
			}
			b.mu.Lock()
			b.seen = append(b.seen, request+" "+b.virtual.Since(b.begin).String())
			b.mu.Unlock()
			do(request)
			b.Done(request)
		}
	})
	<-b.works
}

func (b *bench) expect(t *testing.T, want ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.seen, want) {
		t.Errorf("requests %q, want %q", b.seen, want)
	}
}

func (b *bench) advance(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.virtual.Advance(ctx, d); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) end(t *testing.T) {
	t.Helper()
	b.ShutDown()
	b.done.Wait()
	b.virtual.Close()
	if !b.ledger.Idle() {
		t.Errorf("at the end there is in flight: %s", b.ledger)
	}
}

func with(priority int, after time.Duration) priorityqueue.AddOpts {
	return priorityqueue.AddOpts{Priority: ptr.To(priority), After: after}
}

func nothing(string) {}

// The highest priority is next, and among equal priorities the request that was added first.
// A request that is added again keeps its place unless its priority rises.
func TestPriorities(t *testing.T) {
	t.Parallel()
	b := newBench(true)
	b.AddWithOpts(with(-100, 0), "low")
	b.AddWithOpts(with(0, 0), "normal")
	b.AddWithOpts(with(-100, 0), "raised")
	b.AddWithOpts(with(10, 0), "high")
	b.AddWithOpts(with(5, 0), "raised")
	b.AddWithOpts(with(-200, 0), "normal")
	if b.Len() != 4 {
		t.Errorf("%d requests are queued, want 4", b.Len())
	}
	b.work(nothing)
	b.advance(t, 0)
	b.expect(t, "high 0s", "raised 0s", "normal 0s", "low 0s")
	b.end(t)
}

// The two kinds of queue treat delays differently.
func TestDelays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prioritized bool
		want        []string
	}{
		"priority queue": {true, []string{"a 0s", "b 10s", "c 30s"}},
		"plain queue":    {false, []string{"a 0s", "b 10s", "c 30s", "a 1m0s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(c.prioritized)
			b.AddAfter("a", time.Minute)
			b.Add("a") // no delay
			b.AddAfter("b", 20*time.Second)
			b.AddAfter("b", 10*time.Second) // the shorter delay applies
			b.AddAfter("c", 30*time.Second)
			b.AddAfter("c", 40*time.Second)
			b.work(nothing)
			b.advance(t, time.Hour)
			b.expect(t, c.want...)
			b.end(t)
		})
	}
}

// Adds during the work on a request are merged into one further reconcile, which begins after
// Done.
func TestAddsDuringWork(t *testing.T) {
	t.Parallel()
	b := newBench(true)
	first := true
	b.work(func(request string) {
		if first {
			first = false
			b.Add(request)
			b.AddWithOpts(with(3, 0), request)
			b.AddRateLimited(request) // no effect: the request is ready
		}
	})
	b.Add("a")
	b.advance(t, time.Hour)
	b.expect(t, "a 0s", "a 0s")
	if got := b.NumRequeues("a"); got != 1 {
		t.Errorf("limited %d times, want 1", got)
	}
	b.Forget("a")
	b.AddRateLimited("a")
	b.advance(t, time.Second)
	b.expect(t, "a 0s", "a 0s", "a 1h0m1s")
	b.end(t)
}

// A queue without workers counts nothing: requests that wait for a leader must not stop
// virtual time.
func TestWarmQueue(t *testing.T) {
	t.Parallel()
	b := newBench(true)
	b.Add("a")
	b.advance(t, time.Hour)
	b.work(nothing)
	b.advance(t, 0)
	b.expect(t, "a 1h0m0s")
	b.end(t)
	b.Add("late")
	if _, _, shutdown := b.GetWithPriority(); !shutdown || !b.ShuttingDown() {
		t.Error("a queue that was shut down gives out requests")
	}
}

// After any sequence of operations the ledger is empty, and a request never has two workers at
// the same time.
func TestQueueProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		b := newBench(rapid.Bool().Draw(r, "prioritized"))
		b.workers = rapid.IntRange(1, 3).Draw(r, "workers")
		naps := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 20).Draw(r, "seconds of work")
		var mu sync.Mutex
		var works int
		busy := map[string]bool{}
		do := func(request string) {
			mu.Lock()
			if busy[request] {
				r.Errorf("%s is worked on twice at a time", request)
			}
			busy[request] = true
			nap := time.Duration(naps[works%len(naps)]) * time.Second
			works++
			mu.Unlock()
			ctx, done := b.pausing(context.Background(), request)
			if err := inflight.Sleep(ctx, b.virtual, nap); err != nil {
				r.Error(err)
			}
			done()
			mu.Lock()
			defer mu.Unlock()
			busy[request] = false
		}
		for range b.workers {
			b.work(do)
		}
		added := map[string]bool{}
		for range rapid.IntRange(0, 30).Draw(r, "adds") {
			request := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(r, "request")
			after := time.Duration(rapid.IntRange(0, 5).Draw(r, "after")) * time.Second
			b.AddWithOpts(with(rapid.IntRange(-1, 1).Draw(r, "priority"), after), request)
			added[request] = true
			if rapid.Bool().Draw(r, "step") {
				advanceRapid(r, b, time.Duration(rapid.IntRange(0, 3).Draw(r, "by"))*time.Second)
			}
		}
		if rapid.Bool().Draw(r, "to the end") {
			advanceRapid(r, b, time.Hour)
			for request := range added {
				if !slices.ContainsFunc(b.seen, func(s string) bool { return strings.HasPrefix(s, request) }) {
					r.Errorf("%s was lost", request)
				}
			}
			if b.Len() > 0 {
				r.Errorf("%d requests are left", b.Len())
			}
		}
		b.ShutDown()
		advanceRapid(r, b, time.Minute) // lets the sleeping workers continue
		b.done.Wait()
		b.virtual.Close()
		if !b.ledger.Idle() {
			r.Errorf("at the end there is in flight: %s", b.ledger)
		}
	})
}

func advanceRapid(r *rapid.T, b *bench, d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.virtual.Advance(ctx, d); err != nil {
		r.Fatal(err)
	}
}
