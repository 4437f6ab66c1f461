package minikcm

import (
	"context"

	"minikcm.dev/minikcm/internal/heartbeats"
)

// makeElision sets heartbeats if only what runs in this process, on its virtual time, can observe them. An
// audit log observes each, and an authorizer outside may refuse any.
func (c *Cluster) makeElision() {
	if c.virtual == nil || c.opts.shares() || c.audit != nil || c.authorization != nil || c.opts.Security.AuthorizationWebhook.ConfigFile != "" {
		return
	}
	c.heartbeats = &heartbeats.Elision{}
	attend := func() (end func()) { return c.heartbeats.Attend(context.Background(), heartbeats.Kinds()...) }
	if c.faults != nil {
		c.faults.Attend(attend)
	}
	if c.apiFaults != nil {
		c.apiFaults.Attend(attend)
	}
}
