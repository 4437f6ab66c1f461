package store

import "context"

type requestKey struct{}

// ForRequest returns a context for the operations of an API request, which a faulty
// store (internal/faulty) may delay while the request's work can pause (inflight.With).
// mayWait false forbids delays, because time would stand still meanwhile.
func ForRequest(ctx context.Context, mayWait bool) context.Context {
	return context.WithValue(ctx, requestKey{}, mayWait)
}

// RequestOf reports whether ctx is from ForRequest, and whether the request may wait.
func RequestOf(ctx context.Context) (isRequest, mayWait bool) {
	mayWait, isRequest = ctx.Value(requestKey{}).(bool)
	return isRequest, mayWait
}
