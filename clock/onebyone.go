package clock

import "context"

type oneByOneKey struct{}

// OneByOne returns a context in which AtOnce is 1.
func OneByOne(ctx context.Context) context.Context {
	return context.WithValue(ctx, oneByOneKey{}, true)
}

// AtOnce limits the number of concurrent requests: it returns n, or 1 if ctx is from OneByOne,
// where the order of writes must not depend on the speed of goroutines.
func AtOnce(ctx context.Context, n int) int {
	if ctx.Value(oneByOneKey{}) != nil {
		return 1
	}
	return n
}
