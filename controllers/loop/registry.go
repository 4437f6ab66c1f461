package loop

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Registry lists the loops of controllers.
type Registry = TypedRegistry[types.NamespacedName]

// TypedRegistry lists loops, for status and metrics. The zero value is ready; a nil registry
// lists none.
type TypedRegistry[K comparable] struct {
	mu    sync.Mutex
	loops []*Typed[K]
}

func (r *TypedRegistry[K]) add(l *Typed[K]) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loops = append(r.loops, l)
}

// Loops returns the loops in the order of their creation.
func (r *TypedRegistry[K]) Loops() []*Typed[K] {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.loops)
}

// Stats returns the current figures of all loops.
func (r *TypedRegistry[K]) Stats() []TypedStats[K] {
	var all []TypedStats[K]
	for _, l := range r.Loops() {
		all = append(all, l.Stats())
	}
	return all
}
