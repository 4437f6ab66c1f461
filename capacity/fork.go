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

// Options say what a fork begins with, and what goes on in it.
type Options struct {
	// Objects or Snapshot is the state to begin with.
	Objects  *dump.Dump
	Snapshot string
	// Start is when the fork's time begins: not before its state was written. The zero time
	// is when the objects were dumped or, of a snapshot, the machine's time.
	Start time.Time
	// Seed is what chance follows from; 0 is 1, so that a question has one answer.
	Seed uint64
	// Autoscale lets HorizontalPodAutoscalers act, and Cron CronJobs. Without them, whatever
	// happens follows from the question.
	Autoscale, Cron bool
	// For bounds, in the fork's time, how long the fork settles before the question, and
	// afterwards. 0 is DefaultFor.
	For    time.Duration
	Logger klog.Logger
}

// DefaultFor is how long, at most, a fork takes to settle.
const DefaultFor = 10 * time.Minute

// Fork is a cluster that questions are asked of. It has to be closed.
type Fork struct {
	opts    Options
	cluster *minikcm.Cluster
	client  kubernetes.Interface
	dynamic dynamic.Interface
	kinds   check.Kinds
	// calm is when something happened last, as seen from the writes.
	calm *calm
}

// Open starts a fork, and returns when it has settled.
func Open(ctx context.Context, opts Options) (*Fork, error) {
	opts.complete()
	controllers := []string{"*"}
	if !opts.Autoscale {
		controllers = append(controllers, "-"+podautoscaler.Name)
	}
	if !opts.Cron {
		controllers = append(controllers, "-"+cronjob.Name)
	}
	cluster, err := minikcm.Start(ctx, minikcm.Options{
		Nodes: -1, ManageNodes: minikcm.ManageAll, Objects: opts.Objects, Snapshot: opts.Snapshot, NoHTTPS: true,
		ClockMode: clock.ModeVirtual, ClockStart: opts.Start, Driven: true, Seed: opts.Seed,
		Controllers: controllers, Logger: opts.Logger,
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
		return fmt.Errorf("making the fork's client: %w", err)
	}
	f.dynamic = client
	discovery := memory.NewMemCacheClient(f.client.Discovery())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(discovery)
	f.kinds = check.Kinds{Mapper: restmapper.NewShortcutExpander(mapper, discovery, func(string) {})}
	return nil
}

// Loaded says what became of Options.Objects; nil: there were none.
func (f *Fork) Loaded() *dump.Summary { return f.cluster.Loaded() }

// Close ends the fork.
func (f *Fork) Close() error {
	f.calm.stop()
	return f.cluster.Close()
}

// quiet is how long nothing must have happened for a fork to have settled: longer than the
// 40 s after which pods of a deleted node are collected.
const quiet = time.Minute

// settle lets time pass until nothing has happened for a while, or Options.For is over.
// again, if not nil, is called every 5 s, as kubectl drain asks again for evictions.
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

// evictionRetry is the delay before an eviction is asked for again that a budget refused.
const evictionRetry = 5 * time.Second

// matters reports whether a write keeps the fork from being settled. Heartbeats and events do not.
func matters(w *minikcm.Write) bool {
	return slices.Contains([]string{"pods", "replicationcontrollers", "deployments", "replicasets", "statefulsets", "daemonsets", "jobs"}, w.Resource.Resource)
}
