package parts

import (
	"errors"
	"slices"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/members"
)

// SchedulerHealth returns the health of the scheduler; nil if there is none. The cluster
// stops when the scheduler fails, so that a running cluster has a healthy one.
func (p *Parts) SchedulerHealth() apiserver.ComponentHealth {
	if p.opts.Scheduler == nil {
		return nil
	}
	return func() error {
		select {
		case <-p.opts.Group.Done():
			return errors.New("the cluster has ended")
		default:
			return nil
		}
	}
}

// ControllersHealth returns an error unless a controller runs, here or in another process on
// the same etcd.
func (p *Parts) ControllersHealth() error {
	if p.runsElsewhere(members.RoleControllers) {
		return nil
	}
	running := func(s controllers.Status) bool { return s.State == controllers.Running }
	if m := p.Manager(); m == nil || !slices.ContainsFunc(m.Status(), running) {
		return errors.New("no controller runs in this process")
	}
	return nil
}
