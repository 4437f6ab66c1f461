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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/capacity"
	"minikcm.dev/minikcm/dump"
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
}

func (f *capacityFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.objects.register(flags, "fork the objects in these files or folders, as printed by \"kubectl get -A -o yaml\"; - is standard input; can be repeated")
	flags.StringVar(&f.snapshot, "from-snapshot", "", "fork the state in this etcd snapshot, which is not changed")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "fork the cluster of this kubeconfig, which is only read (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of workloads given without one")
	flags.StringVarP(&f.output, "output", "o", "", "output format: json (default a table)")
	flags.DurationVar(&f.limit, "for", capacity.DefaultFor, "how long the fork may take to settle, in its own time")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the fork's random choices")
	flags.BoolVar(&f.autoscale, "autoscale", false, "let HorizontalPodAutoscalers act, on simulated usage")
	flags.BoolVar(&f.cron, "cron", false, "let CronJobs start Jobs")
	cmd.MarkFlagsMutuallyExclusive("from-objects", "from-snapshot", "kubeconfig")
}

// ask forks the cluster that the flags select, runs question on the fork, and closes it.
func (f *capacityFlags) ask(cmd *cobra.Command, question func(ctx context.Context, fork *capacity.Fork) error) (err error) {
	if f.output != "" && f.output != "json" {
		return badInput{fmt.Errorf("--output=%s: must be json or omitted", f.output)}
	}
	if f.limit <= 0 {
		return badInput{fmt.Errorf("--for must be greater than 0, but is %v", f.limit)}
	}
	relaxGC()
	takeTurns(1)
	opts := capacity.Options{Seed: f.seed, For: f.limit, Autoscale: f.autoscale, Cron: f.cron, Logger: klog.Background()}
	remove, err := f.source(cmd, &opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	fork, err := capacity.Open(cmd.Context(), opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fork.Close()) }()
	if err := f.printLoaded(cmd, fork.Loaded()); err != nil {
		return err
	}
	err = question(cmd.Context(), fork)
	if wrong := (capacity.InputError{}); errors.As(err, &wrong) {
		return badInput{err}
	}
	return err
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

// printAnswer prints an answer as a table or as JSON. It returns exit code 1 unless fits.
func (f *capacityFlags) printAnswer(w io.Writer, answer interface{ Print(w io.Writer) error }, fits bool) error {
	var err error
	if f.output == "json" {
		var data []byte
		data, err = json.MarshalIndent(answer, "", "    ")
		err = write(w, append(data, '\n'), err)
	} else {
		err = answer.Print(w)
	}
	if err == nil && !fits {
		return exitCode(1)
	}
	return err
}
