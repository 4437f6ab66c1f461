package inflight

import "context"

// Pauser is something that counts as in flight in a way of its own, and does not
// between Pause and Resume.
type Pauser interface {
	Pause()
	Resume()
}

// chain is a Pauser and the callers that wait for it, and so pause with it.
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

// With returns a context for what w does. What is called with it may wait by Sleep or
// a Latch: meanwhile neither w is in flight, nor the work whose context ctx is, as that
// waits for w.
func With(ctx context.Context, w *Work) context.Context {
	if w == nil {
		return ctx
	}
	return WithPauser(ctx, w)
}

// WithPauser is With for what is counted in a way of its own.
func WithPauser(ctx context.Context, p Pauser) context.Context {
	return context.WithValue(ctx, chainKey{}, &chain{p, chainOf(ctx)})
}

// Alone returns a context for work that nothing waits for, though ctx is that of other
// work: it pauses without that.
func Alone(ctx context.Context) context.Context {
	return context.WithValue(ctx, chainKey{}, (*chain)(nil))
}

// MayPause reports whether ctx is that of work which can pause.
func MayPause(ctx context.Context) bool { return chainOf(ctx) != nil }

type hurriedKey struct{}

// Hurried returns a context for work that lets no time pass, as something that is in
// flight waits for it. What it calls does without its delays.
func Hurried(ctx context.Context) context.Context {
	return context.WithValue(ctx, hurriedKey{}, true)
}

// IsHurried reports whether ctx is from Hurried.
func IsHurried(ctx context.Context) bool {
	hurried, _ := ctx.Value(hurriedKey{}).(bool)
	return hurried
}
