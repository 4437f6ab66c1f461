package minikcmtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// startTimeout bounds how long a cluster may take to start on a machine that is
// busy with other tests.
const startTimeout = 2 * time.Minute

// Cluster is a cluster that ends with its test.
type Cluster struct {
	*minikcm.Cluster
	t testing.TB
}

// Option changes the options of a test's cluster.
type Option func(*minikcm.Options)

// WithNodes sets the number of nodes; the default is one, and 0 is none.
func WithNodes(n int) Option {
	return func(o *minikcm.Options) {
		o.Nodes = n
		if n == 0 {
			o.Nodes = -1
		}
	}
}

// WithVirtualTime lets the cluster's time stand still but for Advance and Eventually.
func WithVirtualTime() Option {
	return func(o *minikcm.Options) { o.ClockMode = clock.ModeVirtual }
}

// WithControllers selects the controllers that run, as Options.Controllers does.
func WithControllers(selection ...string) Option {
	return func(o *minikcm.Options) { o.Controllers = selection }
}

// WithHTTPS opens a socket: Kubeconfig and HTTPSConfig can be used.
func WithHTTPS() Option {
	return func(o *minikcm.Options) { o.NoHTTPS = false }
}

// WithFaults lets the API server and the store fail on demand: APIFaults and StoreFaults
// can be used.
func WithFaults() Option {
	return func(o *minikcm.Options) { o.APIFaults, o.StoreFaults = true, true }
}

// WithOptions changes whatever there is to change.
func WithOptions(change func(*minikcm.Options)) Option { return change }

// New starts a cluster for a test: of one node, without a socket and with a fixed
// seed unless the options say otherwise. It fails the test if the cluster does not
// start.
func New(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	options := minikcm.Options{Seed: 1, NoHTTPS: true}
	for _, change := range opts {
		change(&options)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	cluster, err := minikcm.Start(ctx, options)
	if err != nil {
		t.Fatalf("starting a cluster: %v", err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Errorf("stopping the cluster: %v", err)
		}
	})
	return &Cluster{Cluster: cluster, t: t}
}

// waitTimeout bounds Eventually in the machine's time, and virtualLimit in virtual
// time, where waiting in vain would otherwise mean weeks.
const (
	waitTimeout  = time.Minute
	virtualLimit = time.Hour
)

// Eventually returns when check, called after every change of any object, says
// that it is satisfied (nil). Virtual time runs meanwhile, for an hour at the most:
// Advance first to what takes longer. It fails the test with the last answer if
// that time, or a minute of the machine's, does not suffice.
func (c *Cluster) Eventually(what string, check func(ctx context.Context, client kubernetes.Interface) error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), waitTimeout)
	defer cancel()
	var deadline time.Time
	var arm func(raise func())
	if _, virtual := c.Clock().(*clock.Virtual); virtual {
		deadline = c.Clock().Now().Add(virtualLimit)
		arm = func(raise func()) {
			timer := c.Clock().AfterFunc(virtualLimit, raise)
			context.AfterFunc(ctx, func() { timer.Stop() })
		}
	}
	var last error
	err := c.Until(ctx, func(ctx context.Context) (bool, error) {
		if last = check(ctx, c.Client()); last == nil {
			return true, nil
		}
		if !deadline.IsZero() && !c.Clock().Now().Before(deadline) {
			return true, errInVain
		}
		return false, nil
	}, arm)
	if err != nil {
		c.t.Fatalf("waiting for %s: %v: %v (in flight: %s)", what, err, last, c.Ledger())
	}
}

var errInVain = fmt.Errorf("not within %v of virtual time", virtualLimit)
