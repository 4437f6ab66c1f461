package capacity

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/drain"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/scenario/check"
)

// Options are the initial state and the settings of a fork.
type Options struct {
	// Objects or Snapshot is the initial state.
	Objects  *dump.Dump
	Snapshot string
	// Start is the fork's initial time. It must not be before the state was written. The
	// zero time means the time of the dump, minikcm.DefaultClockStart for a dump without any
	// times, and for a snapshot the machine's time, rounded up to a minute.
	Start time.Time
	// Seed is the seed of the fork's random choices. 0 means 1, so that a question always
	// has the same answer.
	Seed uint64
	// Autoscale lets HorizontalPodAutoscalers act, and Cron lets CronJobs act. Without them,
	// all changes in the fork follow from the question.
	Autoscale, Cron bool
	// For bounds, in the fork's time, how long the fork may take to settle, before the
	// question and again after it. 0 means DefaultFor.
	For time.Duration
	// NodeGroups lets an autoscaler add nodes while the fork settles after the question; nil: none does.
	NodeGroups *NodeGroups
	// Latencies are the delays of pods in the fork.
	Latencies minikcm.Latencies
	// Traffic is sent from the changes on, and makes clients know changes late, as in a real cluster; nil: none is.
	Traffic *Traffic
	// NodeDelay is the time that a node which the question adds takes to become Ready.
	NodeDelay time.Duration
	// Drain are the options of the question's drains.
	Drain drain.Options
	// SchedulerConfig is the file of a KubeSchedulerConfiguration for the fork; empty: the defaults. With
	// NoPreemption, no profile of it preempts.
	SchedulerConfig string
	NoPreemption    bool
	// Starting is minikcm.Options.Progress for the fork.
	Starting func(ready, nodes int)
	Logger   klog.Logger
}

// DefaultFor is the default time in which a fork must settle. It bounds changes that repeat without end: a
// fork in which nothing more can change settles before.
const DefaultFor = 24 * time.Hour

// Fork is a forked cluster. The caller must close it.
type Fork struct {
	opts Options
	// asked are the options as they were given, with the fork's start, for further forks.
	asked   Options
	cluster *minikcm.Cluster
	// begun is when the fork had started, in its own time.
	begun   time.Time
	client  kubernetes.Interface
	dynamic dynamic.Interface
	kinds   check.Kinds
	watch   *watcher
	// unseen names the loads that the dump's autoscalers saw and the dump does not show.
	unseen []string
	// scheduler is the configuration of the fork's scheduler; nil: the default.
	scheduler *controllers.SchedulerConfig
}

// Open starts a fork and returns when it has settled.
func Open(ctx context.Context, opts Options) (*Fork, error) {
	opts.complete()
	asked := opts
	selected := []string{"*"}
	if !opts.Autoscale {
		selected = append(selected, "-"+controllers.HorizontalPodAutoscaler)
	}
	if !opts.Cron {
		selected = append(selected, "-"+controllers.CronJob)
	}
	// A snapshot is complete: if its pods have groups, it has these as well. A dump may have the pods alone.
	hasGroups := opts.Snapshot != "" || opts.Objects != nil && opts.Objects.Has("scheduling.k8s.io", "PodGroup")
	var unseen []string
	if opts.Autoscale && opts.Objects != nil {
		opts.Objects, unseen = withLoads(opts.Objects)
	}
	schedulerConfig, remove, err := opts.schedulerConfig()
	if err != nil {
		return nil, err
	}
	var scheduling *controllers.SchedulerConfig
	if schedulerConfig != "" {
		if scheduling, err = controllers.ReadSchedulerConfig(schedulerConfig); err != nil {
			return nil, InputError{errors.Join(err, remove())}
		}
	}
	options := minikcm.Options{
		Nodes:       minikcm.NodeOptions{Count: -1, Manage: minikcm.ManageAll, Latencies: opts.Latencies, Stages: minikcm.Stages{Watch: true}},
		Storage:     minikcm.StorageOptions{Objects: opts.Objects, Snapshot: opts.Snapshot},
		API:         minikcm.APIOptions{NoHTTPS: true},
		Clock:       minikcm.ClockOptions{Mode: clock.ModeVirtual, Start: opts.Start, Driven: true},
		Seed:        opts.Seed,
		Controllers: minikcm.ControllerOptions{Selected: selected, SchedulerConfig: schedulerConfig},
		Logger:      opts.Logger,
		Progress:    opts.Starting,
	}
	options.EnableFeature(featuregates.DRAPartitionableDevicesType)
	if hasGroups {
		options.EnableFeature(featuregates.GenericWorkload)
	}
	cluster, err := minikcm.Start(ctx, options)
	if err := errors.Join(err, remove()); err != nil {
		return nil, fmt.Errorf("forking the cluster: %w", err)
	}
	f := &Fork{opts: opts, asked: asked, cluster: cluster, begun: cluster.Clock().Now(), client: cluster.Client(), watch: watch(cluster), scheduler: scheduling, unseen: unseen}
	if err := f.connect(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.settle(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("letting the fork settle: %w", err), f.Close())
	}
	if err := f.slowEndpoints(); err != nil {
		return nil, errors.Join(err, f.Close())
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
	o.delays()
	if !o.Start.IsZero() {
		return
	}
	// The order of turns follows from the time since the start, and deadlines from the seconds of the time: a
	// start between seconds would give other answers.
	if o.Objects == nil {
		o.Start = clock.Real().Now().Add(time.Minute).Truncate(time.Minute)
		return
	}
	o.Start = minikcm.DefaultClockStart
	if taken := o.Objects.Taken(); !taken.IsZero() {
		o.Start = taken.Add(time.Second).Truncate(time.Second)
	}
}

func (f *Fork) connect(ctx context.Context) error {
	client, err := dynamic.NewForConfig(f.cluster.Config())
	if err != nil {
		return fmt.Errorf("creating the fork's client: %w", err)
	}
	f.dynamic = client
	discovery := memory.NewMemCacheClient(f.client.Discovery())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(discovery)
	f.kinds = check.Kinds{Mapper: restmapper.NewShortcutExpander(mapper, discovery, func(string) {})}
	pods, err := f.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the fork's pods: %w", err)
	}
	f.watch.begin(pods.Items)
	return nil
}

// Loaded returns the summary of loading Options.Objects, or nil without objects.
func (f *Fork) Loaded() *dump.Summary { return f.cluster.Loaded() }

// Passed returns how much of the fork's time has passed since its start.
func (f *Fork) Passed() time.Duration { return f.cluster.Clock().Since(f.begun) }

// Close stops the fork.
func (f *Fork) Close() error {
	f.watch.stop()
	return f.cluster.Close()
}
