package loop

import "context"

type begunKey struct{}

// WithBegun returns a context for the Run of a controller: the first loop that runs with it calls begun,
// once all keys that the controller adds before it runs its loop have been added. It lets the
// controller count as in flight until then. Otherwise turns could be granted, or time pass, before
// the goroutine of the controller has added its first key, and the order of its work would depend on
// the machine.
func WithBegun(ctx context.Context, begun func()) context.Context {
	return context.WithValue(ctx, begunKey{}, begun)
}

// reportBegun calls the function of WithBegun.
func reportBegun(ctx context.Context) {
	if begun, ok := ctx.Value(begunKey{}).(func()); ok {
		begun()
	}
}
