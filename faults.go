package minikcm

import (
	"context"

	"minikcm.dev/minikcm/internal/faults"
)

// makeAPIFaults sets apiFaults if the options allow API faults. It draws from a source of
// random numbers of its own, so that allowing faults does not change a run of the same
// seed.
func (c *Cluster) makeAPIFaults() {
	if c.opts.Faults.API {
		c.apiFaults = faults.New(c.clock, c.ledger, c.random.Keyed("faults of the API server"))
	}
}

// endFaults removes the faults that last. Requests that they delay would otherwise wait for a clock
// that does not move any more.
func (c *Cluster) endFaults() {
	if c.faults != nil {
		c.faults.End()
	}
	if c.apiFaults != nil {
		c.apiFaults.End()
	}
}

// APIFaults returns the faults of the API server; nil without Options.Faults.API.
func (c *Cluster) APIFaults() *APIFaults { return c.apiFaults }

// ForgetHistory compacts the store at its current revision and drops the history in the
// API server's watch caches: requests for earlier revisions get 410 Gone.
func (c *Cluster) ForgetHistory(ctx context.Context) error { return c.server.ForgetHistory(ctx) }

// Manager returns the manager of the cluster's controllers, which also injects their
// faults; nil before they are built.
func (c *Cluster) Manager() *Manager { return c.manager.Load() }

// storeWaits returns apiserver.Options.StoreWaits. On virtual time, requests may always
// wait for the store: one that a new fault delays would otherwise be in flight and stop
// time. On other clocks they may wait only while a fault is injected, because it costs
// half a microsecond a request.
func (c *Cluster) storeWaits() func() bool {
	switch {
	case c.faults == nil:
		return nil
	case c.virtual != nil:
		return func() bool { return true }
	}
	return c.faults.Broken
}
