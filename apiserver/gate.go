package apiserver

import (
	"sync"

	"minikcm.dev/minikcm/clock"
)

// gate counts the requests inside and can be shut: then enter fails, and wait waits for
// those inside.
type gate struct {
	mu     sync.RWMutex
	closed bool
	inside sync.WaitGroup
	// cut ends what keeps requests inside that do not end by themselves: the
	// connections of clients that neither read nor write.
	cut []func()
}

func (g *gate) enter() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.closed {
		return false
	}
	g.inside.Add(1)
	return true
}

func (g *gate) leave() { g.inside.Done() }

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// cutWith adds a function that wait calls when it has waited long enough.
func (g *gate) cutWith(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cut = append(g.cut, f)
}

// wait returns when no request is inside.
func (g *gate) wait() {
	empty := make(chan struct{})
	go func() {
		g.inside.Wait()
		close(empty)
	}()
	timer := clock.Real().NewTimer(shutdownTime)
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
