package shell

import (
	"errors"
	"sync/atomic"
)

// ErrOutOfMemory means that a reservation would exceed a limit of memory. It ends the run.
var ErrOutOfMemory = errors.New("out of memory")

// Memory accounts for bytes, which scripts reserve before they allocate them.
type Memory interface {
	// Reserve takes n bytes, or none: its error is ErrOutOfMemory.
	Reserve(n int64) error
	// Release gives back n bytes that were reserved.
	Release(n int64)
}

// Budget is a Memory with a limit. Budgets nest: a reservation has to fit all of them. Its methods may be
// called concurrently.
type Budget struct {
	parent *Budget
	limit  int64
	used   atomic.Int64
}

// NewBudget returns a budget of limit bytes within parent, which may be nil.
func NewBudget(limit int64, parent *Budget) *Budget { return &Budget{parent: parent, limit: limit} }

// Reserve implements Memory.
func (b *Budget) Reserve(n int64) error {
	if b == nil {
		return nil
	}
	if b.used.Add(n) > b.limit || b.parent.Reserve(n) != nil {
		b.used.Add(-n)
		return ErrOutOfMemory
	}
	return nil
}

// Release implements Memory.
func (b *Budget) Release(n int64) {
	for ; b != nil; b = b.parent {
		b.used.Add(-n)
	}
}

// Used returns the number of bytes that are reserved.
func (b *Budget) Used() int64 { return b.used.Load() }
