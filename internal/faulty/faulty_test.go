package faulty_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/faulty"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, c clock.Clock) *faulty.Store {
	t.Helper()
	s := faulty.New(store.NewMemory(), c, clock.NewRandom(1))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Without a fault the store passes the suite.
func TestSuite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, clock.Real()) })
}

func TestFaults(t *testing.T) {
	unavailable := (*store.UnavailableError)(nil)
	for name, test := range map[string]struct {
		fault               faulty.Fault
		put, remove, get    bool // whether it succeeds
		otherPut, openWatch bool
	}{
		"unavailable": {fault: faulty.Unavailable()},
		"no space":    {fault: faulty.NoSpace(), remove: true, get: true, openWatch: true},
		"leader lost": {fault: faulty.LeaderLoss(0)},
		"some keys":   {fault: faulty.Fault{Prefix: "/a", Err: errors.New("broken")}, otherPut: true},
		"writes only": {fault: faulty.Fault{Operations: faulty.Writes, Err: errors.New("broken")}, get: true, openWatch: true},
		"no error":    {fault: faulty.Fault{}, put: true, remove: true, get: true, otherPut: true, openWatch: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, clock.Real())
			revision, err := s.Put(t.Context(), "/a/1", nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			remove := s.Inject(test.fault)
			check := func(what string, err error, want bool) {
				t.Helper()
				if (err == nil) != want {
					t.Errorf("%s: %v", what, err)
				}
				if err != nil && errors.As(test.fault.Err, &unavailable) && !errors.As(err, &unavailable) {
					t.Errorf("%s: %v is no UnavailableError", what, err)
				}
			}
			_, err = s.Get(t.Context(), "/a/1", 0)
			check("get", err, test.get)
			_, err = s.Put(t.Context(), "/a/2", nil, 0)
			check("put", err, test.put)
			_, err = s.Put(t.Context(), "/b/2", nil, 0)
			check("put of another key", err, test.otherPut)
			ctx, cancel := context.WithCancel(t.Context())
			_, err = s.Watch(ctx, "/a/", 0)
			check("watch", err, test.openWatch)
			cancel()
			_, err = s.Delete(t.Context(), "/a/1", revision)
			check("delete", err, test.remove)
			remove()
			if _, err = s.Put(t.Context(), "/a/3", nil, 0); err != nil {
				t.Errorf("put without the fault: %v", err)
			}
		})
	}
}

// The seed decides whether a write with an unknown outcome takes effect.
func TestUnknown(t *testing.T) {
	var runs []int
	for range 2 {
		s := open(t, clock.Real())
		remove := s.Inject(faulty.LeaderLoss(0))
		for i := range 100 {
			if _, err := s.Put(t.Context(), fmt.Sprintf("/%d", i), nil, 0); err == nil {
				t.Error("a write succeeds")
			}
		}
		remove()
		list, err := s.List(t.Context(), "/", store.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, int(list.Count))
	}
	if runs[0] != runs[1] || runs[0] < 20 || runs[0] > 80 {
		t.Errorf("of 100 writes, %v were made", runs)
	}
}

// The loss of the leader ends watches; events delivered before are not lost.
func TestEndWatches(t *testing.T) {
	s := open(t, clock.Real())
	w, err := s.Watch(t.Context(), "/", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "/a", nil, 0); err != nil {
		t.Fatal(err)
	}
	if batch := <-w.Batches(); len(batch.Events) != 1 {
		t.Errorf("got %+v", batch)
	}
	s.Inject(faulty.LeaderLoss(0))
	if batch, open := <-w.Batches(); open {
		t.Errorf("the watch goes on with %+v", batch)
	}
	unavailable := (*store.UnavailableError)(nil)
	if !errors.As(w.Err(), &unavailable) {
		t.Errorf("the watch ends with %v", w.Err())
	}
}

// A watch that is held gets its batches when the fault is removed, and ends with its context before.
func TestHoldWatches(t *testing.T) {
	s := open(t, clock.Real())
	ctx, cancel := context.WithCancel(t.Context())
	held, err := s.Watch(ctx, "/held/", 0)
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Watch(t.Context(), "/other/", 0)
	if err != nil {
		t.Fatal(err)
	}
	remove := s.Inject(faulty.Fault{Operations: faulty.Watches, Prefix: "/held/", HoldWatches: true})
	for _, key := range []string{"/held/a", "/other/a"} {
		if _, err := s.Put(t.Context(), key, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	if batch := <-other.Batches(); len(batch.Events) != 1 {
		t.Errorf("the other watch got %+v", batch)
	}
	select {
	case batch := <-held.Batches():
		t.Errorf("the held watch got %+v", batch)
	default:
	}
	remove()
	if batch := <-held.Batches(); len(batch.Events) != 1 {
		t.Errorf("after the fault the watch got %+v", batch)
	}
	defer s.Inject(faulty.Fault{Operations: faulty.Watches, Prefix: "/held/", HoldWatches: true})()
	if _, err := s.Put(t.Context(), "/held/b", nil, 0); err != nil {
		t.Fatal(err)
	}
	cancel()
	if batch, open := <-held.Batches(); open {
		t.Errorf("the canceled watch got %+v", batch)
	}
}

// Latency is time of the clock: virtual time passes while operations wait, and stands
// still while they are served.
func TestSlow(t *testing.T) {
	ledger := clock.NewLedger()
	v := clock.NewVirtual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ledger)
	defer v.Close()
	s := open(t, v)
	begin := v.Now()
	remove := s.InjectFor(faulty.Slow(3*time.Second), time.Minute)
	defer remove()
	done := make(chan struct{})
	var err error
	work := inflight.Begin(ledger, inflight.Request)
	ctx := store.ForRequest(inflight.With(t.Context(), work), true)
	var took time.Duration
	go func() {
		defer close(done)
		defer work.End()
		_, err = s.Put(ctx, "/a", nil, 0)
		took = v.Since(begin)
	}()
	if err := v.Wait(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	if err != nil || took != 3*time.Second {
		t.Errorf("a slow write took %v: %v", took, err)
	}
	if err := v.Advance(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(ctx, "/b", nil, 0); err != nil {
		t.Errorf("after the fault's end: %v", err)
	}
}

// A waiting call ends with its context, and when the store is closed.
func TestWaitEnds(t *testing.T) {
	s := open(t, clock.Real())
	s.Inject(faulty.Slow(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Get(ctx, "/a", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := s.Get(context.Background(), "/a", 0)
		failed <- err
	}()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	unavailable := (*store.UnavailableError)(nil)
	if err := <-failed; !errors.As(err, &unavailable) {
		t.Errorf("a call to a store that is closed: %v", err)
	}
}
