package clock

import (
	"context"
	"sync/atomic"
	"time"

	"minikcm.dev/minikcm/clock/inflight"
)

// Pause is the work whose context it is from, as inflight.Pauser.
type Pause struct{ pauser inflight.Pauser }

// Pausing returns a context for work that is counted once as k, and does one thing at
// a time: what it calls may let time pass with Sleep.
func Pausing(ctx context.Context, l *Ledger, k Kind) context.Context {
	if l == nil {
		return ctx
	}
	return PausingWith(ctx, func() { l.End(k, 1) }, func() { l.Begin(k, 1) })
}

// PausingWorker is Pausing for a pool worker: its first pause calls substitute, which
// starts a replacement. A worker that was replaced ends with this work.
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
	return inflight.WithPauser(ctx, funcs{begin, end})
}

type funcs struct{ begin, end func() }

func (f funcs) Pause()  { f.begin() }
func (f funcs) Resume() { f.end() }

// Alone is inflight.Alone.
func Alone(ctx context.Context) context.Context { return inflight.Alone(ctx) }

// PauseOf returns what Pausing has put into a context; nil if nothing was.
func PauseOf(ctx context.Context) *Pause {
	if p := inflight.PauserOf(ctx); p != nil {
		return &Pause{p}
	}
	return nil
}

// Hurried is inflight.Hurried.
func Hurried(ctx context.Context) context.Context { return inflight.Hurried(ctx) }

// IsHurried is inflight.IsHurried.
func IsHurried(ctx context.Context) bool { return inflight.IsHurried(ctx) }

// Begin ends the count of the work and of its callers, as they only wait.
func (p *Pause) Begin() {
	if p != nil {
		p.pauser.Pause()
	}
}

// End counts them again.
func (p *Pause) End() {
	if p != nil {
		p.pauser.Resume()
	}
}

// Sleep is inflight.Sleep.
func Sleep(ctx context.Context, c Clock, d time.Duration) error { return inflight.Sleep(ctx, c, d) }
