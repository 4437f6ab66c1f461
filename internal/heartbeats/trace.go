package heartbeats

import (
	"context"
	"sync/atomic"
	"time"
)

// Trace is what a request that writes a heartbeat carries in its context: when the heartbeat was sent, and
// whether anything but the store takes notice of it, such as a webhook.
type Trace struct {
	// At is when the heartbeat was sent; zero: now.
	At      time.Time
	noticed atomic.Bool
}

type traceKey struct{}

// WithTrace returns a context for the request that writes a heartbeat.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceOf returns the trace of a request; nil: it writes no heartbeat.
func TraceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// Notice records that something takes notice of the request with the context ctx.
func Notice(ctx context.Context) {
	if t := TraceOf(ctx); t != nil {
		t.noticed.Store(true)
	}
}

// Noticed reports whether Notice was called.
func (t *Trace) Noticed() bool { return t.noticed.Load() }
