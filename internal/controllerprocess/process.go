package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	config "k8s.io/controller-manager/config"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/controllerprocess/election"
	"minikcm.dev/minikcm/internal/controllerprocess/serving"
)

const (
	// first is the controller that issues the tokens that the others may authenticate with.
	first = "serviceaccount-token-controller"
	// eventSource is the source of the events of the leader election.
	eventSource = "kube-controller-manager"
	// configName is the name of the configuration in /configz.
	configName = "kubecontrollermanager.config.k8s.io"
	// kubeVersion is the Kubernetes release whose behavior the controllers follow.
	kubeVersion = "1.37.2"
	// watchdogTimeout is the time that a leader has to stop after losing its lease before
	// it becomes unhealthy.
	watchdogTimeout = 20 * time.Second
)

// process is one run of the manager.
type process struct {
	opts     *Options
	generic  *config.GenericControllerManagerConfiguration
	selected []string
	cluster  *rest.Config
	// out receives messages for the user.
	out      io.Writer
	watchdog *leaderelection.HealthzAdaptor
	// collected has the metrics of the controllers.
	collected *prometheus.Registry

	mu       sync.Mutex
	managers []*controllers.Manager
}

// Run runs the manager until ctx ends, and returns nil then. portGiven is set if the user chose the
// port to serve on, so that Run must not choose another. Run writes messages for the user to out.
func Run(ctx context.Context, o *Options, portGiven bool, out io.Writer) error {
	selected, completed, err := o.complete()
	if err != nil {
		return err
	}
	if len(o.Metrics.AllowListMapping)+len(o.Metrics.AllowListMappingManifest)+len(o.Metrics.DisabledMetrics)+len(o.Metrics.ShowHiddenMetricsForVersion) > 0 {
		o.Metrics.Apply() // without settings it logs that it cannot read a manifest
	}
	p := &process{opts: o, generic: completed, selected: selected, out: out, collected: prometheus.NewRegistry()}
	if p.cluster, err = o.clientConfig(o.Kubeconfig, completed); err != nil {
		return err
	}
	if completed.LeaderElection.LeaderElect {
		p.watchdog = leaderelection.NewLeaderHealthzAdaptor(watchdogTimeout)
	}
	stop, err := p.serve(ctx, portGiven)
	if err != nil {
		return err
	}
	defer stop()
	if !completed.LeaderElection.LeaderElect {
		return p.work(ctx, election.Share{Runs: func(string) bool { return true }})
	}
	return p.elect(ctx)
}

// elect runs work under the lease or leases.
func (p *process) elect(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("finding this machine's name: %w", err)
	}
	client, err := clientFor(p.cluster, "leader-election")
	if err != nil {
		return err
	}
	recorder, err := newRecorder(p.cluster)
	if err != nil {
		return err
	}
	// The recorder outlives ctx, so that it writes the event of a leader that stops.
	recording, endRecording := context.WithCancel(context.WithoutCancel(ctx))
	var recorded errgroup.Group
	recorded.Go(func() error { return recorder.Run(recording) })
	defer func() {
		endRecording()
		if err := recorded.Wait(); err != nil {
			klog.FromContext(ctx).Error(err, "Cannot write the events of the leader election")
		}
	}()
	opts := election.Options{
		Client: client, Identity: host + "_" + string(clock.NewRandom(clock.NewSeed()).UID()), Config: p.generic.LeaderElection,
		Recorder: recorder.For(eventSource), Watchdog: p.watchdog,
		NewLeader: func(_, leader string) { p.printf("%s leads; waiting.", leader) },
	}
	if p.generic.LeaderMigrationEnabled {
		return election.Migrate(ctx, opts, &p.generic.LeaderMigration, p.work)
	}
	return election.Lead(ctx, opts, func(ctx context.Context) error {
		return p.work(ctx, election.Share{Runs: func(string) bool { return true }})
	})
}

// work runs the selected controllers that belong to the share.
func (p *process) work(ctx context.Context, share election.Share) (err error) {
	e, err := p.opts.newEnv(p.cluster)
	if err != nil {
		return err
	}
	e.Registry = p.collected
	ctx, stop := context.WithCancel(ctx)
	end := e.Begin(ctx)
	defer func() {
		stop()
		err = errors.Join(err, end())
	}()
	names := slices.DeleteFunc(slices.Clone(p.selected), func(name string) bool { return !share.Runs(name) })
	m, err := controllers.New(e, controllers.Options{
		Selected: names, Settings: p.opts.Settings, StartInterval: p.generic.ControllerStartInterval.Duration, First: first, Up: share.Ready,
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.managers = append(p.managers, m)
	p.mu.Unlock()
	controllers := "controllers"
	if len(names) == 1 {
		controllers = "controller"
	}
	p.printf("Running %d %s against %s.", len(names), controllers, p.cluster.Host)
	return m.Run(ctx)
}

func (p *process) current() []*controllers.Manager {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.managers)
}

// serve starts the HTTPS server unless its port is 0; stop ends it.
func (p *process) serve(ctx context.Context, portGiven bool) (stop func(), err error) {
	if p.opts.Serving.Port == 0 {
		return func() {}, nil
	}
	shown, err := p.opts.external(p.generic)
	if err != nil {
		return nil, err
	}
	remove, err := serving.PublishConfig(configName, shown)
	if err != nil {
		return nil, err
	}
	content := serving.Content{
		Controllers: p.selected, Managers: p.current, Election: p.watchdog, Flags: *p.opts.Flags(),
		Profiling: p.generic.Debugging.EnableProfiling, Contention: p.generic.Debugging.EnableContentionProfiling, Version: kubeVersion,
		Collected: p.collected,
	}
	reviewers, err := p.reviewers()
	if err == nil {
		var server *serving.Server
		if server, err = serving.Start(ctx, p.opts.Serving, reviewers, content.Handler(), !portGiven); err == nil {
			p.printf("Serving on https://%s.", server.Address())
			return func() {
				server.Close()
				remove()
			}, nil
		}
	}
	remove()
	return nil, err
}

// reviewers returns clients of the clusters that authenticate and authorize requests.
func (p *process) reviewers() (serving.Reviewers, error) {
	var r serving.Reviewers
	for _, to := range []struct {
		kubeconfig string
		reviewer   *serving.Client
	}{{p.opts.AuthenticationKubeconfig, &r.Authentication}, {p.opts.AuthorizationKubeconfig, &r.Authorization}} {
		cluster := p.cluster
		if to.kubeconfig != "" {
			var err error
			if cluster, err = p.opts.clientConfig(to.kubeconfig, p.generic); err != nil {
				return r, err
			}
		}
		client, err := clientFor(cluster, "reviews")
		if err != nil {
			return r, err
		}
		*to.reviewer = client
	}
	return r, nil
}

// printf writes a message for the user. A failed write does not end the process.
func (p *process) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}
