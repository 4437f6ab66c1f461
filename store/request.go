package store

import "context"

type requestKey struct{}

// ForRequest returns a context for the operations of an API request, which a faulty
// store (store/faulty) may delay: for as long as its work can pause (inflight.With). If
// mayWait is false it must not wait, as time would stand still.
func ForRequest(ctx context.Context, mayWait bool) context.Context {
	return context.WithValue(ctx, requestKey{}, mayWait)
}

// RequestOf reports whether a context is from ForRequest, and whether the request may
// wait.
func RequestOf(ctx context.Context) (isRequest, mayWait bool) {
	mayWait, isRequest = ctx.Value(requestKey{}).(bool)
	return isRequest, mayWait
}
