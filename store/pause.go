package store

import "context"

// Pause lets a store report that an operation waits for time to pass. The caller of the
// operation, which counts it as work in flight, provides the functions; they begin and
// end the wait. Only a faulty store (store/faulty) waits.
type Pause struct {
	Begin, End func()
	// Never forbids waiting, because time would stand still meanwhile.
	Never bool
}

type pauseKey struct{}

// WithPause returns a context whose operations report their waits to p.
func WithPause(ctx context.Context, p *Pause) context.Context {
	return context.WithValue(ctx, pauseKey{}, p)
}

// PauseOf returns the Pause that WithPause put into ctx, or nil.
func PauseOf(ctx context.Context) *Pause {
	p, _ := ctx.Value(pauseKey{}).(*Pause)
	return p
}
