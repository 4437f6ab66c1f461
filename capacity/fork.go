package capacity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/cronjob"
	"minikcm.dev/minikcm/controllers/podautoscaler"
	"minikcm.dev/minikcm/dump"
	"minikcm.dev/minikcm/scenarios/check"
)

// Options are the initial state and the settings of a fork.
type Options struct {
	// Objects or Snapshot is the initial state.
	Objects  *dump.Dump
	Snapshot string
	// Start is the fork's initial time. It must not be before the state was written. The
	// zero time means the time of the dump or, for a snapshot, the machine's time.
	Start time.Time
	// Seed is the seed of the fork's random choices. 0 means 1, so that a question always
	// has the same answer.
	Seed uint64
	// Autoscale lets HorizontalPodAutoscalers act, and Cron lets CronJobs act. Without them,
	// all changes in the fork follow from the question.
	Autoscale, Cron bool
	// For bounds, in the fork's time, how long the fork may take to settle, before the
	// question and again after it. 0 means DefaultFor.
	For    time.Duration
	Logger klog.Logger
}

// DefaultFor is the default time in which a fork must settle.
const DefaultFor = 10 * time.Minute

// Fork is a forked cluster. The caller must close it.
type Fork struct {
	opts    Options
	cluster *minikcm.Cluster
	client  kubernetes.Interface
	dynamic dynamic.Interface
	kinds   check.Kinds
	// calm has the time of the last relevant write.
	calm *calm
}

// Open starts a fork and returns when it has settled.
func Open(ctx context.Context, opts Options) (*Fork, error) {
	opts.complete()
	controllers := []string{"*"}
	if !opts.Autoscale {
		controllers = append(controllers, "-"+podautoscaler.Name)
	}
	if !opts.Cron {
		controllers = append(controllers, "-"+cronjob.Name)
	}
	// A snapshot is complete: if its pods have groups, it has these as well. A dump may have the pods alone.
	has := func(group, kind string) bool {
		return opts.Snapshot != "" || opts.Objects != nil && opts.Objects.Has(group, kind)
	}
	cluster, err := minikcm.Start(ctx, minikcm.Options{
		Nodes: -1, ManageNodes: minikcm.ManageAll, Objects: opts.Objects, Snapshot: opts.Snapshot, NoHTTPS: true,
		ClockMode: clock.ModeVirtual, ClockStart: opts.Start, Driven: true, Seed: opts.Seed,
		Controllers: controllers, Logger: opts.Logger, Stages: minikcm.Stages{Watch: true},
		GenericWorkload: has("scheduling.k8s.io", "PodGroup"), DRAResourcePoolStatus: has("resource.k8s.io", "ResourcePoolStatusRequest"),
		DRAPartitionableDevicesType: true, // what the objects have was kept before
	})
	if err != nil {
		return nil, fmt.Errorf("forking the cluster: %w", err)
	}
	f := &Fork{opts: opts, cluster: cluster, client: cluster.Client(), calm: watchCalm(cluster)}
	if err := f.connect(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := f.settle(ctx, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("letting the fork settle: %w", err), f.Close())
	}
	return f, nil
}

func (o *Options) complete() {
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.For == 0 {
		o.For = DefaultFor
	}
	if o.Start.IsZero() && o.Objects != nil {
		o.Start = o.Objects.Taken().Add(time.Second).Truncate(time.Second)
	}
	if o.Start.Year() <= 1 {
		o.Start = clock.Real().Now()
	}
}

func (f *Fork) connect() error {
	client, err := dynamic.NewForConfig(f.cluster.Config())
	if err != nil {
		return fmt.Errorf("creating the fork's client: %w", err)
	}
	f.dynamic = client
	discovery := memory.NewMemCacheClient(f.client.Discovery())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(discovery)
	f.kinds = check.Kinds{Mapper: restmapper.NewShortcutExpander(mapper, discovery, func(string) {})}
	return nil
}

// Loaded returns the summary of loading Options.Objects, or nil without objects.
func (f *Fork) Loaded() *dump.Summary { return f.cluster.Loaded() }

// Close stops the fork.
func (f *Fork) Close() error {
	f.calm.stop()
	return f.cluster.Close()
}

// quiet is the time without relevant writes after which a fork has settled. It is longer than
// the 40 s after which the pods of a deleted node are collected.
const quiet = time.Minute

// settle advances time until the fork has settled, or for Options.For. It calls again, unless
// that is nil, every evictionRetry, to retry evictions as kubectl drain does.
func (f *Fork) settle(ctx context.Context, again func(ctx context.Context) error) error {
	clock := f.cluster.Clock()
	begun := clock.Now()
	f.calm.disturb(begun)
	for clock.Since(begun) < f.opts.For && clock.Since(f.calm.since()) < quiet {
		if err := f.cluster.Advance(ctx, evictionRetry); err != nil {
			return err
		}
		if again == nil {
			continue
		}
		if err := again(ctx); err != nil {
			return err
		}
	}
	return nil
}

// evictionRetry is the delay before a refused eviction is retried, in the fork's time.
const evictionRetry = 5 * time.Second

// matters reports whether a write shows that the fork has not settled. Heartbeats and events
// do not.
func matters(w *minikcm.Write) bool {
	return slices.Contains([]string{"pods", "replicationcontrollers", "deployments", "replicasets", "statefulsets", "daemonsets", "jobs"}, w.Resource.Resource)
}
