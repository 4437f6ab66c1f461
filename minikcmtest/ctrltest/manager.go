package ctrltest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/election"
	"minikcm.dev/minikcm/internal/events"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/minikcmtest"
)

// NewManager returns a manager for a test's cluster. It takes the options of
// ctrl.NewManager, with these defaults for tests: metrics, health probes and pprof are not
// served unless the options set an address; controller names need not be unique in the
// process; and the namespace of the leader election is "default".
//
// On a cluster with virtual or scaled time, the manager runs on the cluster's clock: see
// the package documentation. Its Add returns an error for a controller that cannot.
//
// The function Start runs the manager. NewManager fails the test if the manager cannot be
// created.
func NewManager(t testing.TB, cluster *minikcmtest.Cluster, options manager.Options, opts ...Option) manager.Manager {
	t.Helper()
	s := settings{user: DefaultUser, groups: []string{"system:masters"}, adapters: []adapter{adaptTo[reconcile.Request]}}
	for _, change := range opts {
		change(&s)
	}
	config := cluster.ConfigFor(s.user, s.groups...)
	options = inTest(options)
	if cluster.Clock() == clock.Real() {
		mgr, err := manager.New(config, options)
		if err != nil {
			t.Fatalf("creating a manager: %v", err)
		}
		return mgr
	}
	if _, virtual := cluster.Clock().(*clock.Virtual); virtual {
		config.Wrap(newMachineTime(t, cluster.Clock(), s.failOnMachineTime).wrap)
	}
	mgr, err := newManager(cluster, config, options, s.adapters)
	if err != nil {
		t.Fatalf("creating a manager on the cluster's clock: %v", err)
	}
	return mgr
}

// world is the state that the parts of one manager share.
type world struct {
	clock    clock.Clock
	ledger   *clock.Ledger
	random   *clock.Random
	recorder *events.Recorder
	events   eventsv1client.EventsGetter
	// identity identifies this manager in the ledger and in the leader election.
	identity string
	adapters []adapter
	starting starting
	// reconciled gets the ends of reconciles.
	reconciled func(minikcmtest.Reconcile)
	// syncPeriods are the resync periods in the cache's options.
	syncPeriods []time.Duration

	handling sync.Mutex
	handlers map[cache.ResourceEventHandler]*handler
	// election is nil without leader election.
	election *election.Elector
	// releases says that the lease is released at the end of a leader.
	releases bool
}

func newManager(cluster *minikcmtest.Cluster, config *rest.Config, options manager.Options, adapters []adapter) (manager.Manager, error) {
	informers.Wrap(config)
	config.Wrap(cause.Wrap)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return oneByOne{next} })
	w := &world{clock: cluster.Clock(), ledger: cluster.Ledger(), random: cluster.Random(), adapters: adapters, reconciled: cluster.Reconciled}
	w.identity = "ctrltest_" + string(w.random.UID())
	w.starting = starting{count: inflight.NewTally(w.ledger, inflight.Start), begun: make(chan struct{})}
	elects := options.LeaderElection
	w.releases = options.LeaderElectionReleaseOnCancel
	electing := options
	options.LeaderElection = false // controller-runtime's election uses the machine's clock
	w.syncPeriods = syncPeriods(options.Cache)
	if options.Cache.NewInformer == nil {
		options.Cache.NewInformer = w.newInformer
	}
	inner, err := manager.New(config, options)
	if err != nil {
		return nil, err
	}
	if err := w.makeRecorder(inner); err != nil {
		return nil, err
	}
	if elects {
		if w.election, err = w.newElection(inner.GetConfig(), electing); err != nil {
			return nil, err
		}
	}
	return withRecorder(inner, w, inner.GetEventRecorder)
}

// newInformer creates the informers of the cache.
func (w *world) newInformer(lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	inner := cache.NewSharedIndexInformer(lw, example, 0, indexers) // no resync: resynced does it
	made := &resynced{SharedIndexInformer: informers.CountedFromRun(inner, w.ledger), world: w}
	if resync > 0 {
		made.period = withoutJitter(resync, w.syncPeriods)
	}
	return made
}

func (w *world) makeRecorder(mgr manager.Manager) error {
	core, err := corev1client.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("creating the event recorder's client: %w", err)
	}
	if w.events, err = eventsv1client.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient()); err != nil {
		return fmt.Errorf("creating the event recorder's client: %w", err)
	}
	w.recorder = events.NewRecorder(core, w.clock, w.ledger, w.random.Fork(), "").WithScheme(mgr.GetScheme())
	return nil
}

// managed is a manager on the cluster's clock. R is the type that GetEventRecorder returns:
// client-go's interface in controller-runtime v0.24, and controller-runtime's own from v0.25
// on.
type managed[R any] struct {
	manager.Manager
	*world
}

// withRecorder returns a managed whose R is inferred from the manager's GetEventRecorder. It
// returns an error for an unsupported release of controller-runtime.
func withRecorder[R any](inner manager.Manager, w *world, _ func(string) R) (manager.Manager, error) {
	var made any = &managed[R]{Manager: inner, world: w}
	mgr, ok := made.(manager.Manager)
	if !ok {
		return nil, fmt.Errorf("%T does not implement the Manager of this release of controller-runtime: use a release that docs/operators.md lists", made)
	}
	if _, ok := any(&events.SeriesRecorder{}).(R); !ok {
		return nil, errors.New("this release of controller-runtime has an unknown type of event recorders: use a release that docs/operators.md lists")
	}
	return mgr, nil
}

// GetEventRecorder returns a recorder of events.k8s.io/v1 on the cluster's clock.
func (m *managed[R]) GetEventRecorder(name string) R {
	return any(m.recorder.Series(m.events, name, name+"-ctrltest")).(R) // withRecorder has checked it
}

// GetEventRecorderFor returns a recorder of core/v1 events on the cluster's clock.
func (m *managed[R]) GetEventRecorderFor(name string) record.EventRecorder {
	return m.recorder.For(name)
}

// Add adds a runnable. It puts controllers on the cluster's clock, and delays runnables that
// need leader election until the manager leads.
func (m *managed[R]) Add(r manager.Runnable) error {
	gated, err := m.gate(r)
	if err != nil {
		return err
	}
	return m.Manager.Add(gated)
}

// Elected is closed when the manager leads, or has started without leader election.
func (m *managed[R]) Elected() <-chan struct{} {
	if m.election == nil {
		return m.Manager.Elected()
	}
	return m.election.Elected()
}

// Start runs the manager until ctx ends or the manager loses its lease.
func (m *managed[R]) Start(ctx context.Context) error { return m.run(ctx, m.Manager) }

// begun is closed when every runnable of the manager works or waits for the manager to lead.
func (m *managed[R]) begun() <-chan struct{} { return m.starting.begun }
