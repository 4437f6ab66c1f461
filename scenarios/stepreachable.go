package scenarios

import (
	"context"
	"errors"

	"minikcm.dev/minikcm"
	netreach "minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/reachapi"
	"minikcm.dev/minikcm/internal/scenario/check"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// AwaitReachable waits until a connection arrives, or does not.
type AwaitReachable struct {
	spec.Reachable `yaml:",inline"`
	// Within is how much of the cluster's time may pass; default 1m.
	Within spec.Duration `yaml:"within"`
}

func (r *AwaitReachable) check(c *spec.Checker) {
	r.Reachable.Check(c.Check)
	if r.Within == 0 {
		r.Within = spec.Duration(check.DefaultWithin)
		if timeout := c.Timeout(); timeout > 0 {
			r.Within = min(r.Within, spec.Duration(timeout))
		}
	}
	c.Within(r.Within)
}

func (r *AwaitReachable) title() string { return r.Title() }

func (r *AwaitReachable) possible(place Place) (field string, err error) {
	if place == ForeignCluster {
		return "", errUnknownNetwork
	}
	return "", nil
}

// errUnknownNetwork refuses to check connections in a cluster whose network is not simulated.
var errUnknownNetwork = errors.New("whether a connection arrives is only known in a cluster of minikcm; for the objects of another one, ask minikcm reach --from-objects")

func (b *branch) reachable(ctx context.Context, r *AwaitReachable) error {
	return b.expect(ctx, &spec.Expect{Reachable: []spec.Reachable{r.Reachable}, Within: r.Within})
}

// expectPossible refuses to expect connections in a foreign cluster.
func expectPossible(e *spec.Expect, place Place) (field string, err error) {
	if place == ForeignCluster && len(e.Reachable) > 0 {
		return "reachable", errUnknownNetwork
	}
	return "", nil
}

// reacher answers whether connections arrive; nil in a foreign cluster.
func (w *world) reacher() check.Reacher {
	switch {
	case w.cluster != nil:
		return reachHere{w.cluster}
	case w.faults != nil:
		return &reachElsewhere{w}
	}
	return nil
}

// reachHere asks a cluster of this process.
type reachHere struct{ cluster *minikcm.Cluster }

// FollowReach implements check.Reacher.
func (r reachHere) FollowReach(ctx context.Context, ask *netreach.Ask, changed func()) (func(context.Context) (*netreach.Report, error), error) {
	kubelets := r.cluster.Kubelets()
	if err := kubelets.FollowReach(ctx, changed); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*netreach.Report, error) { return kubelets.Reach(ctx, ask) }, nil
}

// reachElsewhere asks a cluster that runs in another process, which answers again after changes.
type reachElsewhere struct{ *world }

// FollowReach implements check.Reacher.
func (r *reachElsewhere) FollowReach(ctx context.Context, ask *netreach.Ask, changed func()) (func(context.Context) (*netreach.Report, error), error) {
	last, err := reachapi.Follow(ctx, r.client.CoreV1().RESTClient(), ask, r.follower.Go, changed)
	if err != nil {
		return nil, err
	}
	return func(context.Context) (*netreach.Report, error) { return last() }, nil
}
