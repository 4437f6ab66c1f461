package apiserver

import "sync"

// gate counts who is inside, and can be shut: then nobody enters any more, and one
// can wait for those inside.
type gate struct {
	mu     sync.RWMutex
	closed bool
	inside sync.WaitGroup
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

func (g *gate) wait() { g.inside.Wait() }
