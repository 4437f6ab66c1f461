package minikcm

import (
	"context"

	"minikcm.dev/minikcm/apiserver/faults"
	"minikcm.dev/minikcm/controllers/manager"
)

// makeAPIFaults leaves it nil unless the options ask for it, so that requests pass as
// they are. Its chances are not drawn from the cluster's, whose course it must not
// change before anything fails.
func (c *Cluster) makeAPIFaults() {
	if c.opts.APIFaults {
		c.apiFaults = faults.New(c.clock, c.ledger, c.random.Keyed("faults of the API server"))
	}
}

// APIFaults lets the API server fail; nil without Options.APIFaults.
func (c *Cluster) APIFaults() *faults.Faults { return c.apiFaults }

// ForgetHistory compacts the store at its present revision, and lets the API server
// forget what came before: who asks for that gets 410 Gone.
func (c *Cluster) ForgetHistory(ctx context.Context) error { return c.server.ForgetHistory(ctx) }

// Manager runs the cluster's controllers, and can break them; nil before they were made.
func (c *Cluster) Manager() *manager.Manager { return c.manager.Load() }

// storeWaits is when requests must be able to wait for the store: on virtual time always,
// since a request that a fault meets half way would keep time from passing; otherwise
// only while a fault is injected, as it costs half a microsecond.
func (c *Cluster) storeWaits() func() bool {
	switch {
	case c.faults == nil:
		return nil
	case c.virtual != nil:
		return func() bool { return true }
	}
	return c.faults.Broken
}
