package clock

import "context"

type oneByOneKey struct{}

// OneByOne returns a context in which AtOnce is 1.
func OneByOne(ctx context.Context) context.Context {
	return context.WithValue(ctx, oneByOneKey{}, true)
}

// AtOnce returns how many requests may be made at once by somebody who would make n:
// n, or 1 if the order of writes must not depend on which goroutine is faster.
func AtOnce(ctx context.Context, n int) int {
	if ctx.Value(oneByOneKey{}) != nil {
		return 1
	}
	return n
}
