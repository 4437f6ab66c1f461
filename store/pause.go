package store

import "context"

// Pause is what the caller of an operation, who counts it as work in flight, does when
// the operation begins and ends to wait for time to pass. No store but a faulty one
// (store/faulty) does.
type Pause struct {
	Begin, End func()
	// Never says that it must not wait: time would stand still.
	Never bool
}

type pauseKey struct{}

// WithPause returns a context whose operations tell when they wait.
func WithPause(ctx context.Context, p *Pause) context.Context {
	return context.WithValue(ctx, pauseKey{}, p)
}

// PauseOf returns what WithPause has put into a context; nil if nothing was.
func PauseOf(ctx context.Context) *Pause {
	p, _ := ctx.Value(pauseKey{}).(*Pause)
	return p
}
