package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/capacity"
	"minikcm.dev/minikcm/internal/drain"
	"minikcm.dev/minikcm/internal/dump"
)

// capacityFlags are the flags of the commands that work on a fork of a cluster.
type capacityFlags struct {
	objects         objectFlags
	snapshot        string
	kubeconfig      string
	namespace       string
	output          string
	limit           time.Duration
	seed            uint64
	autoscale, cron bool
	drain           drain.Options
	schedulerConfig string
	noPreemption    bool
	nodeDelay       time.Duration
	latencies       minikcm.Latencies
	traffic         *capacity.Traffic
	nodeGroups      string
	expander        string
	// reports are the files to which the answer is written, too.
	reports outputs
}

func (f *capacityFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.objects.register(flags, "fork the objects in these files or folders, as printed by \"kubectl get -A -o yaml\"; - is standard input; can be repeated")
	flags.StringVar(&f.snapshot, "from-snapshot", "", "fork the state in this etcd snapshot, which is not changed")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "fork the cluster of this kubeconfig, which is only read (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of workloads given without one")
	flags.StringVarP(&f.output, "output", "o", "", "output format: json (default a table)")
	flags.DurationVar(&f.limit, "for", capacity.DefaultFor, "how long a fork that goes on changing is followed, in its own time")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the fork's random choices")
	flags.BoolVar(&f.autoscale, "autoscale", false, "let HorizontalPodAutoscalers act, on simulated usage")
	flags.StringVar(&f.schedulerConfig, "scheduler-config", "", "file of a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) for the fork's scheduler")
	flags.BoolVar(&f.noPreemption, "no-preemption", false, "let no pod preempt others of lower priority")
	flags.StringVar(&f.nodeGroups, "node-groups", "", "file of node groups, to which nodes are added for pods that fit nowhere, as Cluster Autoscaler does")
	flags.StringVar(&f.expander, "expander", "", "how one of several node groups is chosen: random, most-pods, least-waste, price or priority (default that of the file, or random)")
	flags.StringVar(&f.reports.junit, "junit", "", "write the answer as JUnit XML to this file, too")
	flags.StringVar(&f.reports.json, "json", "", "write the answer as JSON to this file, too")
	flags.DurationVar(&f.latencies.PodStart, "start-delay", 0, "how long a pod takes to start in the fork")
	flags.DurationVar(&f.latencies.ContainerReady, "ready-delay", 0, "how long a started container takes to become ready in the fork, beside its probes' delays")
	flags.DurationVar(&f.nodeDelay, "node-delay", 0, "how long a node that the question adds takes to be Ready")
	flags.BoolVar(&f.cron, "cron", false, "let CronJobs start Jobs")
	cmd.MarkFlagsMutuallyExclusive("from-objects", "from-snapshot", "kubeconfig")
}

// assumeDelays sets the delays of pods that are not given, for a question with traffic.
func (f *capacityFlags) assumeDelays(flags *pflag.FlagSet) {
	if !flags.Changed("start-delay") {
		f.latencies.PodStart = capacity.TrafficStartDelay
	}
	if !flags.Changed("ready-delay") {
		f.latencies.ContainerReady = capacity.TrafficReadyDelay
	}
}

// ask forks the cluster that the flags select, prints the answer to a question about the fork, and closes it.
func (f *capacityFlags) ask(cmd *cobra.Command, question func(ctx context.Context, fork *capacity.Fork) (answer, error)) (err error) {
	opts, err := f.options()
	if err != nil {
		return badInput{err}
	}
	relaxGC()
	takeTurns(1)
	p := newForkProgress(cmd)
	defer p.end()
	remove, err := f.source(cmd, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	opts.Starting = p.forking()
	fork, err := capacity.Open(cmd.Context(), *opts)
	if err != nil {
		return asBadSnapshot(f.snapshot, asBadQuestion(err))
	}
	defer func() { err = errors.Join(err, fork.Close()) }()
	p.end()
	if err := f.printLoaded(cmd, fork.Loaded()); err != nil {
		return err
	}
	p.following(fork)
	found, err := question(cmd.Context(), fork)
	p.end()
	if err != nil {
		return asBadQuestion(err)
	}
	return f.printAnswer(cmd.OutOrStdout(), found)
}

// asBadQuestion makes an error in a question badInput.
func asBadQuestion(err error) error {
	if wrong := (capacity.InputError{}); errors.As(err, &wrong) {
		return badInput{err}
	}
	return err
}

// options returns the options of the fork, without its source. The error is about the flags.
func (f *capacityFlags) options() (*capacity.Options, error) {
	switch {
	case f.output != "" && f.output != "json":
		return nil, fmt.Errorf("--output=%s: must be json or omitted", f.output)
	case f.limit <= 0:
		return nil, fmt.Errorf("--for must be greater than 0, but is %v", f.limit)
	}
	for _, d := range []struct {
		name string
		is   time.Duration
	}{{"node-delay", f.nodeDelay}, {"start-delay", f.latencies.PodStart}, {"ready-delay", f.latencies.ContainerReady}} {
		if d.is < 0 {
			return nil, fmt.Errorf("--%s must not be negative, but is %v", d.name, d.is)
		}
	}
	if err := f.reports.prepare(); err != nil {
		return nil, err
	}
	groups, err := f.readGroups()
	if err != nil {
		return nil, err
	}
	return &capacity.Options{
		Seed: f.seed, For: f.limit, Autoscale: f.autoscale, Cron: f.cron, Drain: f.drain, NodeGroups: groups,
		SchedulerConfig: f.schedulerConfig, NoPreemption: f.noPreemption, NodeDelay: f.nodeDelay, Latencies: f.latencies, Traffic: f.traffic, Logger: klog.Background(),
	}, nil
}

// printLoaded prints the summary of a loaded dump. JSON output already contains it.
func (f *capacityFlags) printLoaded(cmd *cobra.Command, loaded *dump.Summary) error {
	if loaded == nil || f.output == "json" {
		return nil
	}
	return loaded.Print(cmd.ErrOrStderr())
}

func nothingToRemove() error { return nil }

// source sets the state from which the fork starts. remove deletes the temporary file that
// may hold it.
func (f *capacityFlags) source(cmd *cobra.Command, opts *capacity.Options) (remove func() error, err error) {
	if opts.Objects, err = f.objects.read(cmd.InOrStdin()); err != nil || opts.Objects != nil {
		return nothingToRemove, err
	}
	if f.snapshot != "" {
		if _, err := os.Stat(f.snapshot); err != nil {
			return nil, badInput{fmt.Errorf("reading the snapshot: %w", err)}
		}
		opts.Snapshot = f.snapshot
		return nothingToRemove, nil
	}
	config, err := clientConfig(cmd.Context(), f.kubeconfig)
	if err != nil {
		return nil, err
	}
	info, err := infoOf(cmd.Context(), config)
	if err != nil {
		return nil, err
	}
	if info == nil {
		opts.Objects, err = dump.FromCluster(cmd.Context(), config)
		return nothingToRemove, err
	}
	dir, err := os.MkdirTemp("", "minikcm-fork-")
	if err != nil {
		return nil, fmt.Errorf("creating a directory for the snapshot: %w", err)
	}
	remove = func() error { return os.RemoveAll(dir) }
	opts.Snapshot, opts.Start = filepath.Join(dir, "snapshot.db"), info.Clock.Now
	if err := f.save(cmd.Context(), opts.Snapshot); err != nil {
		return nil, errors.Join(err, remove())
	}
	return remove, nil
}

func (f *capacityFlags) save(ctx context.Context, path string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("saving the cluster's state: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return snapshotRunning(ctx, f.kubeconfig, file)
}

// infoOf returns the Info of a minikcm cluster, or nil for any other cluster and for a
// minikcm cluster that serves no snapshots.
func infoOf(ctx context.Context, config *rest.Config) (*minikcm.Info, error) {
	asking := rest.CopyConfig(config)
	asking.ContentType, asking.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(asking)
	if err != nil {
		return nil, fmt.Errorf("creating a client for the cluster: %w", err)
	}
	result := client.Discovery().RESTClient().Get().AbsPath("/minikcm/v1").Do(ctx)
	data, err := result.Raw()
	if err != nil {
		var code int
		if result.StatusCode(&code); code == 0 {
			return nil, fmt.Errorf("asking the cluster at %s for its version: %w", config.Host, err)
		}
		return nil, nil
	}
	var info minikcm.Info
	if json.Unmarshal(data, &info) != nil || !info.Has("snapshot") {
		return nil, nil
	}
	return &info, nil
}

// readGroups reads the node groups of the flags; nil: there are none.
func (f *capacityFlags) readGroups() (*capacity.NodeGroups, error) {
	if f.nodeGroups == "" {
		if f.expander != "" {
			return nil, errors.New("--expander chooses among the groups of --node-groups, which is missing")
		}
		return nil, nil
	}
	groups, err := capacity.ReadNodeGroups(f.nodeGroups)
	if err == nil && f.expander != "" {
		err = groups.SetExpander(f.expander)
	}
	return groups, err
}

// answer is the answer to a question about capacity.
type answer interface {
	Print(w io.Writer) error
	JUnit(w io.Writer) error
	Answer() capacity.Verdict
}

// printAnswer prints an answer as a table or as JSON. It returns exit code 1 if something does not fit, and
// 3 if that is uncertain.
func (f *capacityFlags) printAnswer(w io.Writer, a answer) error {
	print := a.Print
	if f.output == "json" {
		print = func(w io.Writer) error { return printJSON(w, a) }
	}
	err := errors.Join(print(w), f.reports.writeAnswer(a))
	switch {
	case err != nil:
		return err
	case a.Answer() == capacity.DoesNotFit:
		return exitCode(1)
	case a.Answer() == capacity.Uncertain:
		return exitCode(uncertain)
	}
	return nil
}

// writeAnswer writes the reports of an answer.
func (o *outputs) writeAnswer(a answer) error {
	return errors.Join(
		toFile(io.Discard, "JUnit report", o.junit, a.JUnit),
		toFile(io.Discard, "answer", o.json, func(w io.Writer) error { return printJSON(w, a) }),
	)
}

// uncertain is the exit code of an answer that depends on things that the fork does not have.
const uncertain = 3
