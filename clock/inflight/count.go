package inflight

// Flag counts one piece of work while it is set. It is guarded by its user's lock, under
// which the user sees what the flag follows from. The zero value counts nothing.
type Flag struct {
	ledger *Ledger
	kind   Kind
	set    bool
}

// NewFlag returns a flag that is not set.
func NewFlag(l *Ledger, k Kind) Flag { return Flag{ledger: l, kind: k} }

// Set sets the flag, or takes it back. To do again what was done does nothing.
func (f *Flag) Set(on bool) {
	switch {
	case on && !f.set:
		f.ledger.begin(f.kind, 1)
	case f.set && !on:
		f.ledger.end(f.kind, 1)
	}
	f.set = on
}

// IsSet reports whether the flag is set.
func (f *Flag) IsSet() bool { return f.set }

// Tally counts pieces of work that are alike and pass in order, as the events in a
// buffer do. It is guarded by its user's lock.
type Tally struct {
	ledger *Ledger
	kind   Kind
	n      int
}

// NewTally returns a tally of nothing.
func NewTally(l *Ledger, k Kind) Tally { return Tally{ledger: l, kind: k} }

// Add counts n more. It panics if that would leave less than nothing.
func (t *Tally) Add(n int) {
	switch {
	case t.n+n < 0:
		panic("inflight: a tally ended more work than it had begun")
	case n > 0:
		t.ledger.begin(t.kind, n)
	case n < 0:
		t.ledger.end(t.kind, -n)
	}
	t.n += n
}

// Len returns how many it counts.
func (t *Tally) Len() int { return t.n }

// Clear takes all back.
func (t *Tally) Clear() { t.Add(-t.n) }
