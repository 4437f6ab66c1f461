package garbagecollector

import (
	"context"
	"sync"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/garbagecollector/graph"
	"minikcm.dev/minikcm/internal/inflight"
)

// keeper owns the graph: all functions that read or change it run on the goroutine of run,
// in the order of submission. Informers never wait for it. A submitted function counts as
// in flight until it has run, so that virtual time does not advance before.
type keeper struct {
	graph *graph.Graph

	mu      sync.Mutex
	counted inflight.Tally // submitted, and not run
	pending []func(*graph.Graph)
	closed  bool
	wake    chan struct{}
}

func newKeeper(ledger *clock.Ledger) *keeper {
	return &keeper{graph: graph.New(), counted: inflight.NewTally(ledger, inflight.Key), wake: make(chan struct{}, 1)}
}

// submit enqueues f. After the end of run it drops f and returns false.
func (k *keeper) submit(f func(*graph.Graph)) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false
	}
	k.counted.Add(1)
	k.pending = append(k.pending, f)
	select {
	case k.wake <- struct{}{}:
	default:
	}
	return true
}

// ask enqueues f and waits until it has run. It returns the context's error if the context
// ends first.
func (k *keeper) ask(ctx context.Context, f func(*graph.Graph)) error {
	done := make(chan struct{})
	if !k.submit(func(g *graph.Graph) { f(g); close(done) }) {
		return context.Canceled
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run runs the submitted functions until ctx ends.
func (k *keeper) run(ctx context.Context) {
	defer k.close()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		}
		k.mu.Lock()
		batch := k.pending
		k.pending = nil
		k.mu.Unlock()
		for _, f := range batch {
			f(k.graph)
			k.ran()
		}
	}
}

func (k *keeper) ran() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.counted.Add(-1)
}

func (k *keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.counted.Add(-len(k.pending))
	k.pending = nil
}
