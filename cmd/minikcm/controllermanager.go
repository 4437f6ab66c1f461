package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/events"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/env"
	"minikcm.dev/minikcm/controllers/manager"
)

// managerOptions are the flags of controller-manager, with upstream's names and
// defaults (Kubernetes documentation, "kube-controller-manager").
type managerOptions struct {
	kubeconfig    string
	controllers   []string
	leaderElect   bool
	leaseDuration time.Duration
	renewDeadline time.Duration
	retryPeriod   time.Duration
	leaseName     string
	leaseSpace    string
}

func newControllerManager() *cobra.Command {
	var opts managerOptions
	cmd := &cobra.Command{
		Use:   "controller-manager",
		Short: "Run the controllers against a cluster that is there already",
		Long: `controller-manager runs the controllers alone, against the cluster of a kubeconfig:
one of minikcm's, started with --controllers=-*, or any other. Of several processes, one
leads and works; when it ends, another takes over.`,
		Example: `  minikcm up --controllers=-* --kubeconfig ./kc
  minikcm controller-manager --kubeconfig ./kc`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runControllerManager(cmd, &opts) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default $KUBECONFIG, or what \"minikcm up\" wrote)")
	flags.StringSliceVar(&opts.controllers, "controllers", []string{"*"}, "controllers to run: '*' is all that are on by default, 'name' adds one, '-name' leaves one out")
	flags.BoolVar(&opts.leaderElect, "leader-elect", true, "work only while this process leads")
	flags.DurationVar(&opts.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long others wait after the leader was last heard of")
	flags.DurationVar(&opts.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long the leader tries to renew its lease before it gives up")
	flags.DurationVar(&opts.retryPeriod, "leader-elect-retry-period", 2*time.Second, "how often to try to get or renew the lease")
	flags.StringVar(&opts.leaseName, "leader-elect-resource-name", "kube-controller-manager", "name of the lease")
	flags.StringVar(&opts.leaseSpace, "leader-elect-resource-namespace", "kube-system", "namespace of the lease")
	return cmd
}

func runControllerManager(cmd *cobra.Command, opts *managerOptions) error {
	selected, err := manager.ParseSelection(strings.Join(opts.controllers, ","))
	if err != nil {
		return err
	}
	config, err := managerConfig(opts.kubeconfig)
	if err != nil {
		return err
	}
	work := func(ctx context.Context) error {
		e, err := managerEnv(config)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "Running %s against %s.\n", count(len(selected), "controller"), config.Host)
		m, err := manager.New(e, manager.Options{Selected: selected})
		if err != nil {
			return err
		}
		return m.Run(ctx)
	}
	if !opts.leaderElect {
		return work(cmd.Context())
	}
	return lead(cmd, opts, config, work)
}

// managerConfig finds the cluster as kubectl would.
func managerConfig(path string) (*rest.Config, error) {
	if path == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		ours, err := defaultKubeconfig()
		if err != nil {
			return nil, err
		}
		path = ours
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig (name one with --kubeconfig): %w", err)
	}
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config, nil
}

// managerEnv is the controllers' world on a cluster elsewhere, on the machine's time.
func managerEnv(config *rest.Config) (*env.Env, error) {
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("reading the files that the kubeconfig names: %w", err)
	}
	factory, err := informers.NewForConfig(config, nil)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the event recorder's client: %w", err)
	}
	random := clock.NewRandom(clock.NewSeed())
	return &env.Env{
		Clock: clock.Real(), Random: random, Config: config, RootCA: config.CAData, Informers: factory, Logger: klog.Background(),
		Recorder: events.NewRecorder(client.CoreV1(), clock.Real(), nil, random.Fork(), "minikcm"),
	}, nil
}

// errLostLease ends a process that leads no more: what it has under way may not go on
// beside the new leader's work.
var errLostLease = errors.New("the leader's lease was lost to another process")

// lead runs work while this process holds the lease.
func lead(cmd *cobra.Command, opts *managerOptions, config *rest.Config, work func(context.Context) error) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making the leader election's client: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("finding this machine's name: %w", err)
	}
	identity := host + "_" + string(clock.NewRandom(clock.NewSeed()).UID())
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, opts.leaseSpace, opts.leaseName, client.CoreV1(), client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: identity})
	if err != nil {
		return fmt.Errorf("making the leader's lease: %w", err)
	}
	// The election goes on until the work has ended: only then another may lead.
	ctx, endElection := context.WithCancel(context.WithoutCancel(cmd.Context()))
	defer endElection()
	var leading atomic.Bool
	defer context.AfterFunc(cmd.Context(), func() {
		if !leading.Load() {
			endElection()
		}
	})()
	finished := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: opts.leaseDuration, RenewDeadline: opts.renewDeadline, RetryPeriod: opts.retryPeriod,
		ReleaseOnCancel: true, Name: opts.leaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				leading.Store(true)
				ctx, stop := context.WithCancel(ctx)
				defer stop()
				defer context.AfterFunc(cmd.Context(), stop)()
				finished <- work(ctx)
				endElection()
			},
			OnStoppedLeading: func() {},
			OnNewLeader: func(leader string) {
				if leader != identity {
					_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s leads; waiting.\n", leader)
				}
			},
		},
	})
	if err != nil {
		return fmt.Errorf("the flags of the leader election: %w", err)
	}
	elector.Run(ctx)
	if !leading.Load() {
		return nil
	}
	if err := <-finished; err != nil || cmd.Context().Err() != nil {
		return err
	}
	return errLostLease
}
