package shell

import (
	"context"
	"runtime"
	"time"

	"minikcm.dev/minikcm/clock"
)

const (
	// slice is the time after which a computing goroutine yields to the next one that waits.
	slice = 5 * time.Millisecond
	// stepsPerLook is the number of steps after which a turn looks at the clock.
	stepsPerLook = 64
)

// Share is the part of the machine that all scripts together may use: half of the processors, at least
// one. A nil Share is unlimited. Its goroutines compute in turns of a few milliseconds each, in the order
// in which they asked. It never changes what a script does: a script that waits for its turn counts as
// working in the ledger, so virtual time stands still.
type Share struct{ slots chan struct{} }

// NewShare returns the share of half of this machine's processors.
func NewShare() *Share { return &Share{slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))} }

// Parts counts the goroutines of a command that do not wait for others of it.
type Parts interface {
	// Begin counts a further goroutine, until it calls end.
	Begin() (end func())
	// Await does not count the calling goroutine until it calls back, or one of the channels is closed. A channel may be nil.
	Await(until ...<-chan struct{}) (back func())
}

// Turn is one goroutine's use of a Share. Only that goroutine may call its methods.
type Turn struct {
	share *Share
	parts Parts
	held  bool
	steps int
	since time.Time
}

// NewTurn returns the turn of the calling goroutine, which must End it. parts counts the goroutines of its command; it may be nil.
func (s *Share) NewTurn(parts Parts) *Turn { return &Turn{share: s, parts: parts} }

// Step is called for each command, round or block of data. It returns the error of ctx, and waits while
// others compute. Timeline: A holds the only slot, B waits for it in take; after 5 ms A's Step puts the
// slot back, which B gets, since waiting goroutines are served in order; A waits in take.
func (t *Turn) Step(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t == nil || t.share == nil {
		return nil
	}
	if !t.held {
		return t.take(ctx)
	}
	if t.steps++; t.steps < stepsPerLook {
		return nil
	}
	t.steps = 0
	if clock.Real().Since(t.since) < slice {
		return nil
	}
	t.End()
	return t.take(ctx)
}

func (t *Turn) take(ctx context.Context) error {
	select {
	case t.share.slots <- struct{}{}:
		t.held, t.since = true, clock.Real().Now()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// turnKey is the key of a goroutine's Turn in its context.
type turnKey struct{}

// WithTurn returns a context that carries the turn of the goroutine that uses it.
func WithTurn(ctx context.Context, t *Turn) context.Context {
	return context.WithValue(ctx, turnKey{}, t)
}

// TurnOf returns the turn that a context carries; nil if it carries none. A nil Turn works, and never waits.
func TurnOf(ctx context.Context) *Turn {
	t, _ := ctx.Value(turnKey{}).(*Turn)
	return t
}

// Fork returns the turn of a goroutine that the calling one starts.
func (t *Turn) Fork() *Turn {
	if t == nil {
		return nil
	}
	return &Turn{share: t.share, parts: t.parts}
}

// Begin counts the goroutine of a turn that Fork has returned, until it calls end. The goroutine that starts it calls Begin.
func (t *Turn) Begin() (end func()) {
	if t == nil || t.parts == nil {
		return func() {}
	}
	return t.parts.Begin()
}

// Await is End for a wait until one of the channels is closed, by another goroutine of the command or with a context. The goroutine
// calls back after it.
func (t *Turn) Await(until ...<-chan struct{}) (back func()) {
	t.End()
	if t == nil || t.parts == nil {
		return func() {}
	}
	return t.parts.Await(until...)
}

// End lets others compute, until the next Step. It is called before the goroutine waits, and at its end.
func (t *Turn) End() {
	if t != nil && t.held {
		t.held = false
		<-t.share.slots
	}
}
