package minikcm

import (
	"errors"
	"slices"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/members"
)

// schedulerHealth returns the health of the scheduler; nil if there is none. The cluster
// stops when the scheduler fails, so that a running cluster has a healthy one.
func (c *Cluster) schedulerHealth() apiserver.ComponentHealth {
	if c.opts.Controllers.NoScheduler {
		return nil
	}
	return func() error {
		select {
		case <-c.done:
			return errors.New("the cluster has ended")
		default:
			return nil
		}
	}
}

// controllersHealth returns an error unless a controller runs, here or in another process on
// the same etcd.
func (c *Cluster) controllersHealth() error {
	if c.runsElsewhere(members.RoleControllers) {
		return nil
	}
	running := func(s controllers.Status) bool { return s.State == controllers.Running }
	if !slices.ContainsFunc(c.Controllers(), running) {
		return errors.New("no controller runs in this process")
	}
	return nil
}
