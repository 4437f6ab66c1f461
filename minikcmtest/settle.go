package minikcmtest

import (
	"context"

	"minikcm.dev/minikcm/clock"
)

// Settle returns when nothing is in flight: the controllers, the scheduler and the nodes have
// reacted to all that was written so far, and wait for time to pass or for other writes. No
// virtual time passes meanwhile. Use Advance or Eventually for what takes time, such as the
// start of a container. Settle fails the test after one minute of machine time.
func (c *Cluster) Settle() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), waitTimeout)
	defer cancel()
	settle := c.Ledger().WaitIdle
	if _, virtual := c.Clock().(*clock.Virtual); virtual {
		settle = func(ctx context.Context) error { return c.Advance(ctx, 0) }
	}
	if err := settle(ctx); err != nil {
		c.t.Fatalf("waiting until nothing is in flight: %v (in flight: %s)", err, c.Ledger())
	}
}
