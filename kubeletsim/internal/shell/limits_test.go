package shell

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// A reservation has to fit a budget and all that it is within, and takes nothing if it does not.
func TestBudget(t *testing.T) {
	all := NewBudget(100, nil)
	one, other := NewBudget(80, all), NewBudget(80, all)
	for _, step := range []struct {
		from *Budget
		n    int64
		want error
	}{{one, 70, nil}, {one, 20, ErrOutOfMemory}, {other, 40, ErrOutOfMemory}, {other, 30, nil}} {
		if err := step.from.Reserve(step.n); !errors.Is(err, step.want) {
			t.Errorf("reserving %d: %v, want %v", step.n, err, step.want)
		}
	}
	one.Release(70)
	if one.Used() != 0 || other.Used() != 30 || all.Used() != 30 {
		t.Errorf("%d, %d and %d bytes are used", one.Used(), other.Used(), all.Used())
	}
}

// No more goroutines compute at a time than there are slots, and each of them gets its turn.
func TestShare(t *testing.T) {
	share := NewShare()
	var computing atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			turn := share.NewTurn(nil)
			defer turn.End()
			for range 100 {
				if err := turn.Step(t.Context()); err != nil {
					t.Error(err)
				}
				if n := computing.Add(1); int(n) > cap(share.slots) {
					t.Errorf("%d compute", n)
				}
				computing.Add(-1)
			}
		})
	}
	all.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := share.NewTurn(nil).Step(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a step after the end: %v", err)
	}
}

// Readers of a pipe see its end after the last writer, writers fail after the last reader, and nothing
// stays reserved.
func TestPipe(t *testing.T) {
	budget := NewBudget(1<<20, nil)
	p := NewPipe(budget)
	if _, err := p.WriteContext(t.Context(), []byte("text")); err != nil {
		t.Fatal(err)
	}
	_ = pipeWriter{p}.Close()
	buf := make([]byte, 10)
	if n, err := p.ReadContext(t.Context(), buf); n != 4 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	if _, err := p.ReadContext(t.Context(), buf); err == nil {
		t.Error("the pipe has no end")
	}
	full := NewPipe(budget)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := full.WriteContext(ctx, make([]byte, 2*pipeSize))
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a blocked write ended with %v", err)
	}
	_ = pipeReader{full}.Close()
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes stay reserved", used)
	}
}
