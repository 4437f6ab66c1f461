package clock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Pause is work that the ledger counts and that may wait for time to pass, during
// which it is not in flight.
type Pause struct {
	begin, end func()
	// caller is whoever waits for this work, and pauses with it.
	caller *Pause
}

type pauseKey struct{}

// Pausing returns a context for work that is counted once as k, and does one thing at
// a time: what it calls may let time pass with Sleep.
func Pausing(ctx context.Context, l *Ledger, k Kind) context.Context {
	if l == nil {
		return ctx
	}
	return PausingWith(ctx, func() { l.End(k, 1) }, func() { l.Begin(k, 1) })
}

// PausingWorker is Pausing for a worker, who cannot do other work while this waits:
// substitute is called then, once, to put another one into its place. A worker who was
// replaced ends with this work.
func PausingWorker(ctx context.Context, l *Ledger, k Kind, substitute func()) (working context.Context, replaced func() bool) {
	if l == nil {
		return ctx, func() bool { return false }
	}
	var gone atomic.Bool
	return PausingWith(ctx, func() {
		if !gone.Swap(true) {
			substitute()
		}
		l.End(k, 1)
	}, func() { l.Begin(k, 1) }), gone.Load
}

// PausingWith is Pausing for work that is counted in a way of its own.
func PausingWith(ctx context.Context, begin, end func()) context.Context {
	return context.WithValue(ctx, pauseKey{}, &Pause{begin: begin, end: end, caller: PauseOf(ctx)})
}

// Alone returns a context for work that nobody waits for, though it has a context from
// somebody who is counted: it pauses without them.
func Alone(ctx context.Context) context.Context {
	return context.WithValue(ctx, pauseKey{}, (*Pause)(nil))
}

// PauseOf returns what Pausing has put into a context; nil if nothing was.
func PauseOf(ctx context.Context) *Pause {
	p, _ := ctx.Value(pauseKey{}).(*Pause)
	return p
}

type hurriedKey struct{}

// Hurried returns a context for work that lets no time pass, as somebody who is in
// flight waits for it. What it calls does without its delays.
func Hurried(ctx context.Context) context.Context {
	return context.WithValue(ctx, hurriedKey{}, true)
}

// IsHurried reports whether Hurried has made the context, or one that it is from.
func IsHurried(ctx context.Context) bool {
	hurried, _ := ctx.Value(hurriedKey{}).(bool)
	return hurried
}

// Begin ends the count of the work and of its callers, as they only wait.
func (p *Pause) Begin() {
	for ; p != nil; p = p.caller {
		p.begin()
	}
}

// End counts them again.
func (p *Pause) End() {
	for ; p != nil; p = p.caller {
		p.end()
	}
}

// Sleep lets d pass on c, as far as ctx lives. The work whose context it is is not in
// flight meanwhile, and is again before time moves on.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	pause := PauseOf(ctx)
	resume := sync.OnceFunc(pause.End)
	begun, due := make(chan struct{}), make(chan struct{})
	// Before others may go on: timers of one instant fire in the order of their making.
	timer := c.AfterFunc(d, func() {
		<-begun
		resume()
		close(due)
	})
	pause.Begin()
	close(begun)
	defer resume()
	defer timer.Stop()
	select {
	case <-due:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
