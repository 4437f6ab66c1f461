package loop

import (
	"slices"
	"sync"
)

// Registry lists the loops of controllers, for status and metrics. The zero value is ready; a nil registry
// lists none.
type Registry struct {
	mu    sync.Mutex
	loops []Loop
}

func (r *Registry) add(l Loop) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loops = append(r.loops, l)
}

// Loops returns the loops in the order of their creation.
func (r *Registry) Loops() []Loop {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.loops)
}

// Stats returns the current figures of all loops.
func (r *Registry) Stats() []Stats {
	var all []Stats
	for _, l := range r.Loops() {
		all = append(all, l.Stats())
	}
	return all
}
