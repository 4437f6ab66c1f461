package minikcmtest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/scenario/nodepools"
)

// startTimeout bounds the start of a cluster, in machine time, on a machine that is busy
// with other tests.
const startTimeout = 2 * time.Minute

// Cluster is a cluster that stops when its test ends.
type Cluster struct {
	*minikcm.Cluster
	t        testing.TB
	wrappers []func(user string, next http.RoundTripper) http.RoundTripper
	// reconciles is the observer of ObserveReconciles; nil: there is none.
	reconciles func(Reconcile)
}

// Option changes the options of a test's cluster.
type Option func(*minikcm.Options)

// WithNodes sets the number of nodes. The default is 1.
func WithNodes(n int) Option {
	return func(o *minikcm.Options) {
		o.Nodes.Count = n
		if n == 0 {
			o.Nodes.Count = -1
		}
	}
}

// WithNodePools adds the nodes of a file with documents of kind NodePools (docs/simulation/nodes.md). Unless
// WithNodes follows, there are no others. It fails the test if the file cannot be read.
func WithNodePools(t testing.TB, file string) Option {
	t.Helper()
	pools, err := nodepools.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *minikcm.Options) {
		o.Nodes.Count, o.Nodes.Pools = -1, append(o.Nodes.Pools, pools...)
	}
}

// WithVirtualTime runs the cluster on virtual time, which only moves in Advance and
// Eventually.
func WithVirtualTime() Option {
	return func(o *minikcm.Options) { o.Clock.Mode = clock.ModeVirtual }
}

// WithControllers selects the controllers that run, as Options.Controllers.Selected does.
func WithControllers(selection ...string) Option {
	return func(o *minikcm.Options) { o.Controllers.Selected = selection }
}

// WithoutScheduler runs no scheduler: pods stay unassigned unless a client binds them.
func WithoutScheduler() Option {
	return func(o *minikcm.Options) { o.Controllers.NoScheduler = true }
}

// WithSchedulerConfig makes the scheduler run by the KubeSchedulerConfiguration in a file.
func WithSchedulerConfig(file string) Option {
	return func(o *minikcm.Options) { o.Controllers.SchedulerConfig = file }
}

// WithSimulatedCloud puts the nodes into the simulated cloud, in which each has an instance.
func WithSimulatedCloud() Option {
	return func(o *minikcm.Options) { o.Nodes.Cloud = "simulated" }
}

// WithSimulatedWebhooksIgnored skips webhooks and APIServices behind which only simulated pods are, which otherwise fail.
func WithSimulatedWebhooksIgnored() Option {
	return func(o *minikcm.Options) { o.Security.IgnoreSimulatedWebhooks = true }
}

// WithVersion serves the API of a minor release of Kubernetes, such as "1.33", in place of the newest's: its groups,
// versions, kinds and fields, with the defaults of its feature gates.
func WithVersion(version string) Option {
	return func(o *minikcm.Options) { o.API.Version = version }
}

// WithFeatureGate turns a feature on or off by the name of its gate.
func WithFeatureGate(name string, on bool) Option {
	return func(o *minikcm.Options) {
		if o.FeatureGates == nil {
			o.FeatureGates = map[string]bool{}
		}
		o.FeatureGates[name] = on
	}
}

// WithRuntimeConfig serves API versions and resources that are off by default, or turns some off: items of upstream's
// flag --runtime-config, such as "resource.k8s.io/v1beta1=true".
func WithRuntimeConfig(items ...string) Option {
	return func(o *minikcm.Options) { o.API.RuntimeConfig = append(o.API.RuntimeConfig, items...) }
}

// WithGangScheduling serves Workload and PodGroup of scheduling.k8s.io/v1beta1 and schedules pods by their
// PodGroups: upstream's feature gate GenericWorkload.
func WithGangScheduling() Option { return withFeature("GenericWorkload") }

// WithResourcePoolStatus serves ResourcePoolStatusRequest of resource.k8s.io/v1alpha3 and answers the requests:
// upstream's feature gates DRAResourcePoolStatus and DRAPartitionableDevicesType.
func WithResourcePoolStatus() Option {
	return withFeature("DRAPartitionableDevicesType")
}

// WithStorageVersions serves StorageVersion of internal.apiserver.k8s.io/v1alpha1, with an entry of the API server for
// each kind that it stores: upstream's feature gates StorageVersionAPI and APIServerIdentity.
func WithStorageVersions() Option { return withFeature("StorageVersionAPI") }

func withFeature(gate string) Option { return func(o *minikcm.Options) { o.EnableFeature(gate) } }

// WithAdmissionPlugins changes which admission plugins run: "name" enables one, "-name"
// disables one.
func WithAdmissionPlugins(selection ...string) Option {
	return func(o *minikcm.Options) {
		for _, name := range selection {
			if disabled, ok := strings.CutPrefix(name, "-"); ok {
				o.Security.DisableAdmissionPlugins = append(o.Security.DisableAdmissionPlugins, disabled)
			} else {
				o.Security.EnableAdmissionPlugins = append(o.Security.EnableAdmissionPlugins, name)
			}
		}
	}
}

// WithHTTPS serves HTTPS on a socket, which Kubeconfig and HTTPSConfig need.
func WithHTTPS() Option {
	return func(o *minikcm.Options) { o.API.NoHTTPS = false }
}

// WithFaults enables APIFaults and StoreFaults, which make the API server and the store
// fail on demand.
func WithFaults() Option {
	return func(o *minikcm.Options) { o.Faults.API, o.Faults.Store = true, true }
}

// WithOptions changes any of the cluster's options.
func WithOptions(change func(*minikcm.Options)) Option { return change }

// New starts a cluster for a test. By default it has one node, no socket and the seed 1. New
// fails the test if the cluster does not start, and stops the cluster when the test ends. The
// test also fails if a controller or the scheduler was denied a request.
func New(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	options := minikcm.Options{Seed: 1, API: minikcm.APIOptions{NoHTTPS: true}}
	for _, change := range opts {
		change(&options)
	}
	denied := make(chan error, 1)
	if options.Security.Denied == nil {
		options.Security.Denied = func(_ string, err error) {
			select {
			case denied <- err:
			default: // the first is enough
			}
		}
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
		select {
		case err := <-denied:
			t.Errorf("a component of the cluster lacks a permission: %v", err)
		default:
		}
	})
	return &Cluster{Cluster: cluster, t: t}
}

// waitTimeout bounds Eventually in machine time. virtualLimit bounds it in virtual time:
// a cluster simulates weeks within waitTimeout.
const (
	waitTimeout  = time.Minute
	virtualLimit = time.Hour
)

// Eventually calls check now and after every change of any object, and returns when check
// returns nil. Meanwhile virtual time runs, for at most one hour: for a later event, call
// Advance first. Eventually fails the test with check's last error after that hour, or
// after one minute of machine time.
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
