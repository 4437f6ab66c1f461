package inflight_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/inflight"
)

// queueModel models a Queue with keys a to d, for one caller that does one thing at a time.
type queueModel struct {
	turns   bool
	settled bool // what Settled says
	closed  bool
	waiting map[string]bool
	// out are the keys that a worker has: paused or not, and what came meanwhile.
	out map[string]*outKey
}

type outKey struct{ added, offered bool }

func (m *queueModel) add(key string) {
	switch {
	case m.closed:
	case m.out[key] != nil:
		m.out[key].added = true
	default:
		m.waiting[key] = true
	}
}

func (m *queueModel) offer(key string) {
	switch {
	case m.closed:
	case m.out[key] != nil:
		m.out[key].offered = true
	case !m.settled:
		m.waiting[key] = true
	}
}

func (m *queueModel) mayGet() bool { return len(m.waiting) > 0 && (!m.turns || len(m.out) == 0) }

func (m *queueModel) done(key string) {
	out := m.out[key]
	delete(m.out, key)
	if !m.closed && (out.added || out.offered && !m.settled) {
		m.waiting[key] = true
	}
}

// followQueue applies the operations that the letters stand for to a queue and to the model, and
// compares the two. a to d are added, A to D offered; g gets a key, x and y give back the first and
// the last one that is out, s inverts the result of Settled, z closes the queue.
func followQueue(t *testing.T, turns bool, letters string) {
	l := newLedger(t, turns)
	m := &queueModel{turns: turns, waiting: map[string]bool{}, out: map[string]*outKey{}}
	q := inflight.NewQueue(inflight.QueueOptions[string]{Ledger: l, Name: "queue", Settled: func(string) bool { return m.settled }})
	defer q.Close()
	var out []string
	done := func(at int) {
		key := out[at]
		out = slices.Delete(out, at, at+1)
		m.done(key)
		q.Done(key)
	}
	for i, letter := range letters {
		key := string(letter)
		switch {
		case strings.Contains("abcd", key):
			m.add(key)
			q.Add(key)
		case strings.Contains("ABCD", key):
			m.offer(strings.ToLower(key))
			q.Offer(strings.ToLower(key))
		case key == "g":
			key, work, ok := q.Get(ended())
			if want := m.mayGet(); ok != want {
				t.Fatalf("%q, step %d: Get is %v, want %v", letters, i, ok, want)
			}
			if !ok {
				continue
			}
			if !m.waiting[key] || work == nil {
				t.Fatalf("%q, step %d: got %q, waiting are %v", letters, i, key, m.waiting)
			}
			delete(m.waiting, key)
			m.out[key] = &outKey{}
			out = append(out, key)
		case key == "x" && len(out) > 0:
			done(0)
		case key == "y" && len(out) > 0:
			done(len(out) - 1)
		case key == "s":
			m.settled = !m.settled
		case key == "z":
			m.closed = true
			clear(m.waiting)
			q.Close()
		}
		if got := q.Len(); got != len(m.waiting) {
			t.Fatalf("%q, step %d: %d wait, want %d", letters, i, got, len(m.waiting))
		}
		if got, want := l.Idle(), len(m.waiting)+len(m.out) == 0; got != want {
			t.Fatalf("%q, step %d: in flight: %s; waiting: %v, out: %v", letters, i, l, m.waiting, out)
		}
	}
	for len(out) > 0 {
		done(0)
	}
}

func FuzzQueue(f *testing.F) {
	for _, letters := range []string{"", "aagxgx", "abgAaxgxgx", "agAsxg", "agAxgx", "sAg", "abcgz", "abcdggggxyxyg", "agaxgazx", "zag"} {
		f.Add(letters)
	}
	f.Fuzz(func(t *testing.T, letters string) {
		if len(letters) > 200 {
			t.Skip()
		}
		followQueue(t, false, letters)
		followQueue(t, true, letters)
	})
}

// TestQueueInterleavings tries every interleaving of two callers that add and one worker: a key is
// worked on after it was added, and something is in flight until then.
func TestQueueInterleavings(t *testing.T) {
	merge(nil, []string{"a", "b", "A"}, []string{"a", "B"}, []string{"g", "x", "g", "x"}, func(all []string) {
		letters := strings.Join(all, "")
		for _, turns := range []bool{false, true} {
			followQueue(t, turns, letters+"gxgxgx")
		}
	})
}

// merge calls do with every order of the steps of three that keeps the order of each.
func merge(done, a, b, c []string, do func([]string)) {
	if len(a)+len(b)+len(c) == 0 {
		do(done)
		return
	}
	for i, next := range [][]string{a, b, c} {
		if len(next) == 0 {
			continue
		}
		rest := [][]string{a, b, c}
		rest[i] = next[1:]
		merge(append(slices.Clone(done), next[0]), rest[0], rest[1], rest[2], do)
	}
}

// Where work takes turns, the order is the seed's, whatever the order of adding.
func TestTurnsOfAQueue(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(10) {
		var first string
		for _, added := range []string{"abc", "cab", "bca"} {
			l := inflight.NewLedger()
			l.TakeTurns(seed, false)
			before := inflight.Begin(l, inflight.Start)
			q := inflight.NewQueue(inflight.QueueOptions[string]{Ledger: l, Name: "queue"})
			for _, key := range added {
				q.Add(string(key))
			}
			if _, _, ok := q.Get(ended()); ok {
				t.Error("a turn is granted while something is in flight")
			}
			before.End()
			var got string
			for range 3 {
				key, _, _ := q.Get(t.Context())
				got += key
				q.Done(key)
			}
			if first == "" {
				first = got
			}
			if got != first {
				t.Errorf("seed %d: the turns are %s and %s", seed, first, got)
			}
			q.Close()
		}
		orders[first] = true
	}
	if len(orders) < 2 {
		t.Errorf("all seeds have the same order: %v", orders)
	}
}

// A worker that sleeps is replaced once, and ends with its key.
func TestSleepingWorkerIsReplaced(t *testing.T) {
	l := newLedger(t, true)
	v := newClock(t, l)
	q := inflight.NewQueue(inflight.QueueOptions[string]{Ledger: l, Name: "queue"})
	var mu sync.Mutex
	var lines []string
	var running, most int
	var run sync.WaitGroup
	run.Go(func() {
		q.Run(t.Context(), 5, func(ctx context.Context, key string) {
			for range 2 {
				mu.Lock()
				running++
				most = max(most, running)
				lines = append(lines, fmt.Sprintf("%s at %v", key, v.Since(epoch)))
				running--
				mu.Unlock()
				if key == "slow" {
					if err := inflight.Sleep(ctx, v, time.Minute); err != nil {
						t.Error(err)
					}
				}
			}
		})
	})
	q.Add("slow")
	advance(t, v, time.Second)
	q.Add("quick")
	advance(t, v, time.Hour)
	q.Add("last")
	advance(t, v, time.Second)
	q.Close()
	run.Wait()
	want := "slow at 0s, quick at 1s, quick at 1s, slow at 1m0s, last at 1h0m1s, last at 1h0m1s"
	if got := strings.Join(lines, ", "); got != want || most != 1 {
		t.Errorf("%d at a time: %s; want %s", most, got, want)
	}
}

// Drain lets the waiting keys be worked on, in order, whatever is in flight.
func TestDrain(t *testing.T) {
	for _, turns := range []bool{false, true} {
		l := newLedger(t, turns)
		before := inflight.Begin(l, inflight.Start)
		q := inflight.NewQueue(inflight.QueueOptions[int]{Ledger: l, Name: "queue"})
		for i := range 20 {
			q.Add(i)
		}
		q.Drain()
		q.Add(20)
		var got []int
		q.Run(t.Context(), 1, func(_ context.Context, key int) { got = append(got, key) })
		if len(got) != 20 || !slices.IsSorted(got) {
			t.Errorf("turns %v: drained %v", turns, got)
		}
		q.Close()
		before.End()
	}
}

// Many add and work at once: every key is worked on after its last add, one worker at a
// time has it, and the ledger is not idle before.
func TestQueueUnderLoad(t *testing.T) {
	for _, turns := range []bool{false, true} {
		l := newLedger(t, turns)
		q := inflight.NewQueue(inflight.QueueOptions[int]{Ledger: l, Name: "queue"})
		var mu sync.Mutex
		added, seen, busy := map[int]int{}, map[int]int{}, map[int]bool{}
		var run, adders sync.WaitGroup
		run.Go(func() {
			q.Run(t.Context(), 4, func(_ context.Context, key int) {
				mu.Lock()
				if busy[key] {
					t.Errorf("two workers have %d", key)
				}
				busy[key] = true
				seen[key] = added[key]
				mu.Unlock()
				mu.Lock()
				busy[key] = false
				mu.Unlock()
			})
		})
		for range 4 {
			adders.Go(func() {
				for i := range 500 {
					key := i % 7
					mu.Lock()
					added[key]++
					mu.Unlock()
					q.Add(key)
				}
			})
		}
		adders.Wait()
		if err := l.WaitIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		for key, n := range added {
			if seen[key] != n {
				t.Errorf("turns %v: of %d adds of %d the last that was worked on is %d", turns, n, key, seen[key])
			}
		}
		mu.Unlock()
		q.Close()
		run.Wait()
	}
}

// TestWorkersOnDemand checks that a queue without keys has one goroutine, that as many keys as there may be
// workers are processed at once, and that the workers end when there are no keys left.
func TestWorkersOnDemand(t *testing.T) {
	const workers = 5
	l := newLedger(t, false)
	q := inflight.NewQueue(inflight.QueueOptions[int]{Ledger: l, Name: "queue"})
	before := runtime.NumGoroutine()
	begun, end := make(chan int), make(chan struct{})
	var run sync.WaitGroup
	run.Go(func() {
		q.Run(t.Context(), workers, func(_ context.Context, key int) {
			begun <- key
			<-end
		})
	})
	for round := range 3 {
		for key := range 2 * workers {
			q.Add(key)
		}
		for range workers {
			<-begun
		}
		if n := runtime.NumGoroutine() - before; n > 1+workers {
			t.Errorf("round %d: %d goroutines for %d workers", round, n, workers)
		}
		select {
		case key := <-begun:
			t.Errorf("round %d: %d is processed, too", round, key)
		default:
		}
		for range workers {
			end <- struct{}{}
			<-begun
		}
		for range workers {
			end <- struct{}{}
		}
		if err := l.WaitIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for n := runtime.NumGoroutine() - before; n > 2; n = runtime.NumGoroutine() - before {
		runtime.Gosched() // the last workers are about to end
	}
	q.Close()
	run.Wait()
}

// A queue that is closed drops its keys, even a key that was granted and that no worker has taken.
func TestKeysAreDroppedAfterAGrant(t *testing.T) {
	l := newLedger(t, true)
	q := inflight.NewQueue(inflight.QueueOptions[string]{Ledger: l, Name: "queue"})
	for _, key := range []string{"a", "b", "c", "d"} {
		q.Add(key)
	}
	q.Close()
	wants(t, l, "nothing")
	q.Add("e")
	if _, _, ok := q.Get(t.Context()); ok || q.Len() != 0 {
		t.Error("a closed queue has a key")
	}
}
