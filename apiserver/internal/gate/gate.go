package gate

import (
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
)

// patience is how long Wait waits before it calls the functions of CutWith, in real time.
const patience = 200 * time.Millisecond

// Gate counts the requests inside and can be shut: then Enter fails, and Wait waits for the
// requests inside. The zero Gate is open.
type Gate struct {
	mu     sync.RWMutex
	closed bool
	inside sync.WaitGroup
	// cut closes the connections of clients that neither read nor write, whose requests do not
	// end by themselves.
	cut []func()
}

// Enter reports whether a request may enter; if so, it must Leave.
func (g *Gate) Enter() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.closed {
		return false
	}
	g.inside.Add(1)
	return true
}

// Leave ends a request that has entered.
func (g *Gate) Leave() { g.inside.Done() }

// Shut makes Enter fail.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// CutWith adds a function that Wait calls when it has waited long enough.
func (g *Gate) CutWith(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cut = append(g.cut, f)
}

// Wait returns when no request is inside.
func (g *Gate) Wait() {
	empty := make(chan struct{})
	go func() {
		g.inside.Wait()
		close(empty)
	}()
	timer := clock.Real().NewTimer(patience)
	defer timer.Stop()
	select {
	case <-empty:
		return
	case <-timer.C():
	}
	g.mu.RLock()
	cut := g.cut
	g.mu.RUnlock()
	for _, f := range cut {
		f()
	}
	<-empty
}
