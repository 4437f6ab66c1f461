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
	"minikcm.dev/minikcm/scenarios/check"
	"minikcm.dev/minikcm/scenarios/faultapi"
	"minikcm.dev/minikcm/scenarios/format"
)

// User is who does what a scenario's steps do.
const User = "minikcm:scenario"

// world is the cluster that a run is on.
type world struct {
	// cluster is nil if it is not one of ours.
	cluster *minikcm.Cluster
	clock   clock.Clock
	// faults injects into a cluster that "minikcm up" runs; nil: it is none.
	faults *faultapi.Client
	// clockText is how the time of a cluster that is none of ours is called.
	clockText string
	// ledger is nil if it is not one of ours.
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

// open starts the scenario's cluster, or reaches the one that there is.
func open(ctx context.Context, s *Scenario, opts Options, there reached) (*world, error) {
	if opts.Config != nil {
		seed := opts.Seed
		if seed == 0 {
			seed = max(s.Spec.Cluster.Seed, 1)
		}
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

// use makes a cluster of ours the world.
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

// wait lets time run until done is closed.
func (w *world) wait(ctx context.Context, done <-chan struct{}) error {
	if w.cluster != nil {
		return w.cluster.Wait(ctx, done)
	}
	<-done
	return nil
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
	walk(s, func(step *format.Step) { needs = needs || kindOf(step).program })
	return needs
}
