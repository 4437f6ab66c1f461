package inflight

// Flag counts one piece of work while it is set. The lock of its user guards it, together with
// the state that it reflects. The zero value counts nothing.
type Flag struct {
	ledger *Ledger
	kind   Kind
	set    bool
}

// NewFlag returns a flag that is not set.
func NewFlag(l *Ledger, k Kind) Flag { return Flag{ledger: l, kind: k} }

// Set sets or clears the flag. It does nothing if the flag has that value.
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

// Tally counts pieces of work of one kind that are processed in order, such as the events in a
// buffer. The lock of its user guards it.
type Tally struct {
	ledger *Ledger
	kind   Kind
	n      int
}

// NewTally returns an empty tally.
func NewTally(l *Ledger, k Kind) Tally { return Tally{ledger: l, kind: k} }

// Add adds n to the count. It panics if the count would become negative.
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

// Len returns the count.
func (t *Tally) Len() int { return t.n }

// Clear sets the count to zero.
func (t *Tally) Clear() { t.Add(-t.n) }
