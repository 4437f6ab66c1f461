package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/scenario/check"
	"minikcm.dev/minikcm/internal/scenario/faultapi"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// User makes the requests of a scenario's steps.
const User = "minikcm:scenario"

// world is the cluster that a run works on.
type world struct {
	// cluster is nil unless it runs in this process.
	cluster *minikcm.Cluster
	// shared says that the run did not start the cluster and owns neither its clock nor its faults.
	shared bool
	// driver lets the time of the cluster pass; nil: the world does, if it owns the clock.
	driver Driver
	clock  clock.Clock
	// faults injects into a cluster of "minikcm up"; nil for all others.
	faults *faultapi.Client
	// clockText names the clock of an existing cluster.
	clockText string
	// ledger is nil unless the cluster runs in this process.
	ledger *clock.Ledger
	random *clock.Random
	seed   uint64

	config   *rest.Config
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	kinds    check.Kinds
	follower *check.Follower
	// kubeconfig is the file for scripts; empty without scripts.
	kubeconfig string
	closers    []func() error
}

// open starts the scenario's cluster, or connects to the existing one.
func open(ctx context.Context, s *Scenario, opts Options, there reached) (*world, error) {
	if opts.Cluster != nil {
		w := &world{shared: opts.Driver == nil, driver: opts.Driver}
		if err := w.use(opts.Cluster); err != nil {
			return nil, err
		}
		if !w.shared {
			return w, w.startCompanions(ctx, s, opts.Logger)
		}
		w.seed = opts.seed(s)
		w.random = clock.NewRandom(w.seed).Fork()
		return w, nil
	}
	if opts.Config != nil {
		seed := opts.seed(s)
		w := &world{faults: there.faults, random: clock.NewRandom(seed), seed: seed, kubeconfig: opts.Kubeconfig}
		w.clock, w.clockText = there.clock()
		return w, w.connect(there.config(opts.Config))
	}
	w := &world{}
	if needsKubeconfig(s) {
		dir, err := os.MkdirTemp("", "minikcm-scenario-")
		if err != nil {
			return nil, fmt.Errorf("making a directory for the kubeconfig: %w", err)
		}
		w.kubeconfig = filepath.Join(dir, "kubeconfig")
		w.closers = append(w.closers, func() error { return os.RemoveAll(dir) })
	}
	cluster, err := startCluster(ctx, s, opts, w.kubeconfig)
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	w.closers = append([]func() error{cluster.Close}, w.closers...)
	if err := w.use(cluster); err != nil {
		return nil, errors.Join(err, w.close())
	}
	if err := w.startCompanions(ctx, s, opts.Logger); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// seed returns the seed of a run on an existing cluster.
func (o *Options) seed(s *Scenario) uint64 {
	if o.Seed != 0 {
		return o.Seed
	}
	return max(s.Spec.Cluster.Seed, 1)
}

// use makes a cluster of this process the world.
func (w *world) use(cluster *minikcm.Cluster) error {
	w.cluster, w.clock, w.ledger, w.seed = cluster, cluster.Clock(), cluster.Ledger(), cluster.Seed()
	w.random = clock.NewRandom(w.seed).Fork()
	return w.connect(cluster.ConfigFor(User, "system:masters"))
}

func (w *world) connect(config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	config.UserAgent = "minikcm-scenario"
	config.QPS = -1
	w.config = config
	var err error
	if w.client, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("making the scenario's client: %w", err)
	}
	if w.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("making the scenario's client: %w", err)
	}
	if w.follower, err = check.NewFollower(config, w.ledger); err != nil {
		return err
	}
	discovery := memory.NewMemCacheClient(w.client.Discovery())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(discovery)
	w.kinds = check.Kinds{Mapper: restmapper.NewShortcutExpander(mapper, discovery, func(string) {})}
	return nil
}

// wait lets time run until done is closed. Time of a cluster that is not the run's runs anyway.
func (w *world) wait(ctx context.Context, done <-chan struct{}) error {
	switch {
	case w.driver != nil:
		return w.driver.Drive(ctx)
	case w.shared:
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	case w.cluster != nil:
		return w.cluster.Wait(ctx, done)
	}
	<-done
	return nil
}

// ended closes done when all that a run has begun has ended, while the last of it is in flight.
func (w *world) ended(done chan<- struct{}) {
	close(done)
	if w.driver != nil {
		w.driver.Over()
	}
}

func (w *world) close() error {
	var errs []error
	for _, closer := range w.closers {
		errs = append(errs, closer())
	}
	return errors.Join(errs...)
}

// needsKubeconfig reports whether a scenario runs other programs.
func needsKubeconfig(s *Scenario) (needs bool) {
	walk(s, func(step *spec.Step) { needs = needs || kindOf(step).program })
	return needs
}
