package pressure

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// budgetPart is the part of the memory limit that responses in flight may hold.
const budgetPart = 8

// Budget limits the bytes that the responses in flight hold in memory while their clients read
// them. The nil Budget has no limit.
type Budget struct {
	limit int64
	// full is called when a response does not fit, once until half of the limit is free again.
	full func(*Budget)

	mu       sync.Mutex
	reserved int64
	reported bool
	rejected atomic.Int64
}

// NewBudget returns the budget of a process that may use limit bytes, an eighth of them; nil
// if limit is 0. full is called before the first rejection, and again before later ones once
// half of the budget was free in between.
func NewBudget(limit uint64, full func(*Budget)) *Budget {
	if limit == 0 {
		return nil
	}
	return &Budget{limit: int64(min(limit, 1<<62)) / budgetPart, full: full}
}

// Limit returns the most bytes that responses may hold; 0 is no limit.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit
}

// Reserved returns the bytes that responses hold.
func (b *Budget) Reserved() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reserved
}

// Rejected returns the number of responses that did not fit.
func (b *Budget) Rejected() int64 {
	if b == nil {
		return 0
	}
	return b.rejected.Load()
}

// String returns the reserved bytes and the limit, for messages.
func (b *Budget) String() string {
	const mebibyte = 1 << 20
	return fmt.Sprintf("%d of %d MiB", b.Reserved()/mebibyte, b.Limit()/mebibyte)
}

// Share is the part of a Budget that one response has reserved. It is used by one goroutine. The nil
// Share has no limit.
type Share struct {
	budget *Budget
	// asked is the sum of the bytes asked for, reserved the part of it that is.
	asked, reserved int64
}

// Share returns a share that has reserved nothing yet.
func (b *Budget) Share() *Share {
	if b == nil {
		return nil
	}
	return &Share{budget: b}
}

// Grow adds n bytes to the response's share, and reports whether they fit; if not, the share
// stays as it is. A negative n always fits. A response counts as half of the budget at most,
// so that each can be sent, alone if need be.
func (s *Share) Grow(n int64) bool {
	if s == nil {
		return true
	}
	held := min(s.asked+n, s.budget.limit/2)
	if !s.budget.take(held-s.reserved, false) {
		return false
	}
	s.asked, s.reserved = s.asked+n, held
	return true
}

// Force is Grow for a response that must be sent, as that to a write that has been made. It
// may exceed the budget: then later responses are rejected.
func (s *Share) Force(n int64) {
	if s != nil {
		s.budget.take(n, true)
		s.asked, s.reserved = s.asked+n, s.reserved+n
	}
}

// String returns the bytes that all responses hold, and the limit.
func (s *Share) String() string { return s.budget.String() }

// Release gives back the response's share.
func (s *Share) Release() {
	if s != nil {
		s.budget.take(-s.reserved, true)
		s.asked, s.reserved = 0, 0
	}
}

// take adds n bytes if they fit, are forced, or are negative.
func (b *Budget) take(n int64, force bool) bool {
	b.mu.Lock()
	fits := force || n <= 0 || b.reserved+n <= b.limit
	if fits {
		b.reserved += n
		b.reported = b.reported && b.reserved > b.limit/2
	}
	report := !fits && !b.reported
	b.reported = b.reported || report
	b.mu.Unlock()
	if !fits {
		b.rejected.Add(1)
	}
	if report {
		b.full(b)
	}
	return fits
}
