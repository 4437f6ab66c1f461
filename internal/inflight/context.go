package inflight

import "context"

// Pauser is work that is counted by its own implementation, and not counted between Pause and
// Resume.
type Pauser interface {
	Pause()
	Resume()
}

// chain is a Pauser and its callers, which wait for it and therefore pause with it.
type chain struct {
	Pauser
	caller *chain
}

func (c *chain) pause() {
	for ; c != nil; c = c.caller {
		c.Pause()
	}
}

func (c *chain) resume() {
	for ; c != nil; c = c.caller {
		c.Resume()
	}
}

type chainKey struct{}

func chainOf(ctx context.Context) *chain {
	c, _ := ctx.Value(chainKey{}).(*chain)
	return c
}

// With returns a context for the calls that w makes. During a Sleep or a Latch.Wait with it,
// neither w is in flight, nor the work that ctx belongs to, because that work waits for w.
func With(ctx context.Context, w *Work) context.Context {
	if w == nil {
		return ctx
	}
	return WithPauser(ctx, w)
}

// WithPauser is With for a Pauser.
func WithPauser(ctx context.Context, p Pauser) context.Context {
	return context.WithValue(ctx, chainKey{}, &chain{p, chainOf(ctx)})
}

// Alone returns a context for work that is independent of the work that ctx belongs to: if it
// pauses, the other work does not.
func Alone(ctx context.Context) context.Context {
	return context.WithValue(ctx, chainKey{}, (*chain)(nil))
}

// PauserOf returns what pauses the work that ctx belongs to, with its callers; nil if it cannot pause.
func PauserOf(ctx context.Context) Pauser {
	if c := chainOf(ctx); c != nil {
		return whole{c}
	}
	return nil
}

// whole pauses a chain with all its callers.
type whole struct{ chain *chain }

func (w whole) Pause()  { w.chain.pause() }
func (w whole) Resume() { w.chain.resume() }

// MayPause reports whether ctx belongs to work that can pause.
func MayPause(ctx context.Context) bool { return chainOf(ctx) != nil }

type hurriedKey struct{}

// Hurried returns a context for work that must not let time pass, because other work in flight
// waits for it. Functions called with it skip their delays.
func Hurried(ctx context.Context) context.Context {
	return context.WithValue(ctx, hurriedKey{}, true)
}

// IsHurried reports whether ctx is from Hurried.
func IsHurried(ctx context.Context) bool {
	hurried, _ := ctx.Value(hurriedKey{}).(bool)
	return hurried
}
