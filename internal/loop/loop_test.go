package loop_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/loop"
)

var start = time.Unix(1_000_000, 0)

func key(name string) types.NamespacedName { return types.NamespacedName{Namespace: "a", Name: name} }

// fixture runs a loop on a virtual clock, so that its ledger says when it has
// nothing left to do.
type fixture struct {
	t      *testing.T
	ledger *clock.Ledger
	clock  *clock.Virtual
	loop   loop.Loop

	mu   sync.Mutex
	seen []string
}

func newFixture(t *testing.T, opts loop.Options, reconcile func(f *fixture, ctx context.Context, k types.NamespacedName) (loop.Result, error)) *fixture {
	f := &fixture{t: t, ledger: clock.NewLedger()}
	f.clock = clock.NewVirtual(start, f.ledger)
	opts.Name, opts.Clock, opts.Ledger = "test", f.clock, f.ledger
	f.loop = loop.New(opts, loop.Func(func(ctx context.Context, k types.NamespacedName) (loop.Result, error) {
		f.note(k.Name + " at " + f.clock.Since(start).String())
		return reconcile(f, ctx, k)
	}))
	return f
}

func (f *fixture) note(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, line)
}

// lines returns the lines recorded since the last call.
func (f *fixture) lines() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() { f.seen = nil }()
	return f.seen
}

// run runs the loop until the test ends.
func (f *fixture) run() {
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan error)
	go func() { ended <- f.loop.Run(ctx) }()
	f.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			f.t.Errorf("Run() = %v", err)
		}
		f.clock.Close()
		if !f.ledger.Idle() {
			f.t.Errorf("after the end there is still in flight: %s", f.ledger)
		}
	})
}

func (f *fixture) idle() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	if err := f.ledger.WaitIdle(ctx); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) advance(d time.Duration) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	if err := f.clock.Advance(ctx, d); err != nil {
		f.t.Fatal(err)
	}
	f.idle()
}

func (f *fixture) expect(want ...string) {
	f.t.Helper()
	if diff := cmp.Diff(want, f.lines()); diff != "" {
		f.t.Errorf("reconciles (-want +got):\n%s", diff)
	}
}

func TestAddsAreMerged(t *testing.T) {
	f := newFixture(t, loop.Options{}, func(*fixture, context.Context, types.NamespacedName) (loop.Result, error) {
		return loop.Result{}, nil
	})
	for range 3 {
		f.loop.Add(key("x"))
	}
	f.loop.Add(key("y"))
	f.run()
	f.idle()
	f.expect("x at 0s", "y at 0s")
}

func TestAddDuringReconcile(t *testing.T) {
	f := newFixture(t, loop.Options{Workers: 4}, nil)
	var running, most, count int
	f.loop = loop.New(loop.Options{Name: "test", Workers: 4, Clock: f.clock, Ledger: f.ledger}, loop.Func(func(_ context.Context, k types.NamespacedName) (loop.Result, error) {
		f.mu.Lock()
		running++
		most = max(most, running)
		count++
		again := count < 5
		f.mu.Unlock()
		if again {
			f.loop.Add(k)
			f.loop.Add(k)
		}
		f.mu.Lock()
		running--
		f.mu.Unlock()
		return loop.Result{}, nil
	}))
	f.loop.Add(key("x"))
	f.run()
	f.idle()
	if count != 5 || most != 1 {
		t.Errorf("%d reconciles, up to %d of one key at once; want 5, 1", count, most)
	}
}

func TestRequeueAfter(t *testing.T) {
	f := newFixture(t, loop.Options{}, func(f *fixture, _ context.Context, k types.NamespacedName) (loop.Result, error) {
		if f.clock.Since(start) < 20*time.Second {
			return loop.Result{RequeueAfter: 15 * time.Second}, nil
		}
		return loop.Result{}, nil
	})
	f.run()
	f.loop.Add(key("x"))
	f.idle()
	f.expect("x at 0s")
	f.advance(14 * time.Second)
	f.expect()
	f.advance(time.Second)
	f.expect("x at 15s")
	f.advance(time.Hour)
	f.expect("x at 30s")
}

func TestEarliestDelayIsKept(t *testing.T) {
	f := newFixture(t, loop.Options{}, func(*fixture, context.Context, types.NamespacedName) (loop.Result, error) {
		return loop.Result{}, nil
	})
	f.run()
	f.loop.AddAfter(key("x"), 10*time.Second)
	f.loop.AddAfter(key("x"), 5*time.Second)
	f.loop.AddAfter(key("x"), 8*time.Second)
	f.loop.AddAfter(key("y"), 0)
	f.advance(time.Minute)
	f.expect("y at 0s", "x at 5s")
}

func TestFailuresBackOff(t *testing.T) {
	failures := 4
	f := newFixture(t, loop.Options{BaseDelay: time.Second, MaxDelay: 3 * time.Second}, func(*fixture, context.Context, types.NamespacedName) (loop.Result, error) {
		if failures--; failures >= 0 {
			return loop.Result{}, errors.New("not yet")
		}
		return loop.Result{}, nil
	})
	f.run()
	f.loop.Add(key("x"))
	f.idle()
	if s := f.loop.Stats(); s.Failing[key("x")] != 1 || s.LastError != "not yet" || s.LastErrorKey != key("x") {
		t.Errorf("Stats() = %+v", s)
	}
	f.advance(time.Minute)
	f.expect("x at 0s", "x at 1s", "x at 3s", "x at 6s", "x at 9s")
	if s := f.loop.Stats(); len(s.Failing) != 0 || s.Reconciles != 5 || s.Failures != 4 || s.Queued != 0 {
		t.Errorf("Stats() = %+v", s)
	}
	// The next failure starts from the beginning again.
	failures = 1
	f.loop.Add(key("x"))
	f.advance(time.Minute)
	f.expect("x at 1m0s", "x at 1m1s")
}

func TestMaxRetries(t *testing.T) {
	f := newFixture(t, loop.Options{BaseDelay: time.Second, MaxRetries: 2}, func(*fixture, context.Context, types.NamespacedName) (loop.Result, error) {
		return loop.Result{}, errors.New("never")
	})
	f.run()
	f.loop.Add(key("x"))
	f.advance(time.Hour)
	f.expect("x at 0s", "x at 1s", "x at 3s")
}

func TestPanicConcernsItsKeyOnly(t *testing.T) {
	f := newFixture(t, loop.Options{BaseDelay: time.Second, MaxRetries: 1}, func(_ *fixture, _ context.Context, k types.NamespacedName) (loop.Result, error) {
		if k.Name == "bad" {
			panic("nil pod")
		}
		return loop.Result{}, nil
	})
	f.run()
	f.loop.Add(key("bad"))
	f.loop.Add(key("good"))
	f.advance(time.Minute)
	f.expect("bad at 0s", "good at 0s", "bad at 1s")
	if s := f.loop.Stats(); s.Panics != 2 || s.Failures != 2 || !strings.Contains(s.LastError, "nil pod") {
		t.Errorf("Stats() = %+v", s)
	}
}

func TestCauses(t *testing.T) {
	var got [][]int64
	f := newFixture(t, loop.Options{}, func(_ *fixture, ctx context.Context, _ types.NamespacedName) (loop.Result, error) {
		got = append(got, cause.From(ctx))
		return loop.Result{}, nil
	})
	f.loop.Add(key("x"), 3)
	f.loop.Add(key("x"), 3, 5)
	f.loop.Add(key("y"))
	many := make([]int64, 100)
	for i := range many {
		many[i] = int64(i + 1)
	}
	f.loop.Add(key("z"), many...)
	f.run()
	f.idle()
	want := [][]int64{{3, 5}, nil, many[68:]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// A retried reconcile writes for the causes of the first try, and for the causes that came since.
func TestCausesOfRetries(t *testing.T) {
	var got [][]int64
	f := newFixture(t, loop.Options{BaseDelay: time.Second}, func(_ *fixture, ctx context.Context, _ types.NamespacedName) (loop.Result, error) {
		if got = append(got, cause.From(ctx)); len(got) < 3 {
			return loop.Result{}, errors.New("conflict")
		}
		return loop.Result{}, nil
	})
	f.loop.Add(key("x"), 3)
	f.run()
	f.idle()
	f.advance(time.Second)
	f.loop.Add(key("x"), 5)
	f.idle()
	f.loop.Add(key("x"), 7)
	f.idle()
	if diff := cmp.Diff([][]int64{{3}, {3}, {3, 5}, {7}}, got); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// A postponed reconcile hands its causes on to the next one.
func TestCausesOfPostponed(t *testing.T) {
	var got [][]int64
	f := newFixture(t, loop.Options{}, func(_ *fixture, ctx context.Context, _ types.NamespacedName) (loop.Result, error) {
		got = append(got, cause.From(ctx))
		if len(got) < 3 {
			return loop.Result{RequeueAfter: time.Second, Postponed: true}, nil
		}
		return loop.Result{}, nil
	})
	f.loop.Add(key("x"), 3)
	f.run()
	f.idle()
	f.loop.Add(key("x"), 5)
	f.idle()
	f.advance(time.Second)
	f.idle()
	if diff := cmp.Diff([][]int64{{3}, {3, 5}, {3, 5}}, got); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

func TestRunDropsWhatIsQueuedAtTheEnd(t *testing.T) {
	f := newFixture(t, loop.Options{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	f.loop = loop.New(loop.Options{Name: "test", Clock: f.clock, Ledger: f.ledger}, loop.Func(func(ctx context.Context, k types.NamespacedName) (loop.Result, error) {
		f.note(k.Name)
		cancel()
		<-ctx.Done()
		return loop.Result{RequeueAfter: time.Second}, ctx.Err()
	}))
	for _, name := range []string{"x", "y", "z"} {
		f.loop.Add(key(name))
	}
	f.loop.AddAfter(key("later"), time.Hour)
	if err := f.loop.Run(ctx); err != nil {
		t.Errorf("Run() = %v", err)
	}
	f.loop.Add(key("too late"))
	f.loop.AddAfter(key("too late"), time.Second)
	f.clock.Close()
	if got := f.lines(); !slices.Equal(got, []string{"x"}) {
		t.Errorf("reconciled %v, want x only", got)
	}
	if !f.ledger.Idle() {
		t.Errorf("there is still in flight: %s", f.ledger)
	}
}
