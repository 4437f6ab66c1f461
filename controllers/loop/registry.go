package loop

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Registry is that of controllers' loops.
type Registry = TypedRegistry[types.NamespacedName]

// TypedRegistry keeps loops for those that look at them later. The zero value is
// ready, and a nil one keeps none.
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

// Loops returns the loops in the order in which they were made.
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
