package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/controllerprocess/serving"
	"minikcm.dev/minikcm/internal/forkapi"
	"minikcm.dev/minikcm/internal/outside"
	"minikcm.dev/minikcm/internal/scenario/report"
	"minikcm.dev/minikcm/internal/ui"
)

// upCluster runs the cluster of "minikcm up". Each reset replaces the cluster with a new one.
type upCluster struct {
	opts    minikcm.Options
	with    upExtras
	page    *ui.Server
	resets  *resets
	stops   *stops
	current atomic.Pointer[minikcm.Cluster]
	// stop stops the current cluster.
	stop func() error
	// unlisted is the reason why the cluster is not in the registry; nil: it is.
	unlisted error
}

// up runs a cluster until the command is interrupted or the cluster fails.
func up(cmd *cobra.Command, opts minikcm.Options, with upExtras) (err error) {
	if opts.API.KubeconfigPath, err = filepath.Abs(opts.API.KubeconfigPath); err != nil {
		return err
	}
	opts.Notices, opts.API.Flags = notices(cmd.ErrOrStderr()), flagValues(cmd)
	u := &upCluster{opts: opts, with: with, resets: newResets(&opts), stops: newStops()}
	u.opts.API.Extensions = append(u.opts.API.Extensions, u.resets.extension(), u.stops.extension())
	openEntrances(&u.opts, u.with.entrances)
	u.opts.API.Gatherer = serving.Gatherer(func() []controllers.Status {
		if cluster := u.current.Load(); cluster != nil {
			return cluster.Controllers()
		}
		return nil
	})
	if u.page, err = u.servePage(cmd.Context(), with.ui); err != nil {
		return err
	}
	defer u.page.Close()
	elapsed := clock.Stopwatch()
	if u.stop, err = u.startShowing(cmd); err != nil {
		return asBadSnapshot(opts.Storage.Snapshot, startError(cmd.Context(), err))
	}
	defer func() { err = errors.Join(err, u.stop()) }()
	remove, err := u.register()
	if err != nil {
		u.unlisted = err
	} else {
		defer remove()
	}
	if err := printLoaded(cmd, u.current.Load()); err != nil {
		return err
	}
	if err := u.announce(cmd, elapsed()); err != nil {
		return err
	}
	return u.serve(cmd)
}

// openEntrances adds the ways into the cluster's network.
func openEntrances(opts *minikcm.Options, with outside.Options) {
	with.Logger = opts.Logger
	opts.API.Extensions = append(opts.API.Extensions, outside.Extension(with))
	if with.Publish {
		opts.Seed = cmp.Or(opts.Seed, clock.NewSeed())
		opts.API.LoadBalancers = outside.LoadBalancers(opts.Seed)
	}
}

// startShowing is start with its progress on a terminal.
func (u *upCluster) startShowing(cmd *cobra.Command) (stop func() error, err error) {
	p := &starting{doing: "Starting the cluster"}
	u.opts.Progress = p.count
	if isDetached() {
		defer reportProgress(cmd.Context(), p.text)()
	} else {
		defer showProgress(cmd.Context(), cmd.ErrOrStderr(), p.text)()
	}
	return u.start(cmd.Context())
}

// announce prints how to use the cluster, which is ready.
func (u *upCluster) announce(cmd *cobra.Command, elapsed time.Duration) error {
	cluster := u.current.Load()
	end := "Ctrl-C"
	if isDetached() {
		end = fmt.Sprintf("\"minikcm down %s\"", u.with.name)
	}
	if isDetached() && u.unlisted != nil {
		end = fmt.Sprintf("a signal to its process, %d", os.Getpid())
	}
	r := readiness{Out: exportLine("KUBECONFIG", u.opts.API.KubeconfigPath) + "\n"}
	r.Err = fmt.Sprintf("%s ready at https://%s in %v (seed %d). Stop it with %s.\n",
		describeNodes(cmd.Context(), cluster), cluster.Address(), elapsed.Round(time.Millisecond), cluster.Seed(), end)
	if u.unlisted != nil {
		r.Err += fmt.Sprintf("\"minikcm list\" and \"minikcm down\" will not find it: %v\n", u.unlisted)
	}
	if u.with.ui {
		r.Link = u.page.Link()
		r.Err += fmt.Sprintf("Open the live page at %s (once; \"minikcm ui\" prints another link).\n", r.Link)
	}
	if s, ok := cluster.Service(outside.Feature).(*outside.Service); ok && s.Entrances().Proxy != "" {
		r.Err += fmt.Sprintf("The proxy to the cluster's network is http://%s (HTTP and SOCKS5).\n", s.Entrances().Proxy)
	}
	if _, err := fmt.Fprint(cmd.OutOrStdout(), r.Out); err != nil {
		return err
	}
	_, _ = fmt.Fprint(cmd.ErrOrStderr(), r.Err)
	if u.with.open {
		openLink(cmd.ErrOrStderr(), r.Link)
	}
	if isDetached() {
		return r.report()
	}
	return nil
}

// serve returns when the cluster is to be stopped, or has failed. It replaces the cluster when a reset
// is asked for.
func (u *upCluster) serve(cmd *cobra.Command) (err error) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...) }
	for {
		select {
		case <-cmd.Context().Done():
			say("Stopping.")
			return nil
		case user := <-u.stops.asked:
			say("Stopped by %s.", user)
			return nil
		case <-u.current.Load().Done():
			return u.current.Load().Err()
		case user := <-u.resets.asked:
			elapsed := clock.Stopwatch()
			if u.stop, err = u.restart(cmd.Context(), u.stop); err != nil {
				return startError(cmd.Context(), err)
			}
			say("Reset by %s: ready again in %v.", user, elapsed().Round(time.Millisecond))
		}
	}
}

// servePage serves the live page, for this cluster and the clusters that replace it, and forks. Without
// it, the page is nil, and forks have none.
func (u *upCluster) servePage(ctx context.Context, wanted bool) (*ui.Server, error) {
	if !wanted {
		u.opts.API.Extensions = append(u.opts.API.Extensions, forkapi.Extension(forkapi.Options{Cluster: u.opts, Extensions: ownExtensions}))
		return nil, nil
	}
	opts := ui.Options{Logger: u.opts.Logger, StyleSources: []string{report.StyleSource()}} // it opens reports
	own := opts
	own.Port = u.with.uiPort // forks have ports of their own
	page, err := ui.Listen(ctx, own)
	if err == nil {
		u.opts.API.Extensions = append(u.opts.API.Extensions, page.Extension(), forkapi.Extension(forkapi.Options{Cluster: u.opts, Extensions: ownExtensions, Page: &opts}))
	}
	return page, err
}

// describeNodes counts the nodes and, if other processes simulate nodes too, the ones that this
// process simulates.
func describeNodes(ctx context.Context, cluster *minikcm.Cluster) string {
	own := len(cluster.Kubelets().Nodes())
	all, err := cluster.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil || len(all.Items) == own {
		return count(own, "node")
	}
	return fmt.Sprintf("%s (%d of them simulated by this process)", count(len(all.Items), "node"), own)
}

// start starts a cluster. stop stops it and may be called more than once.
func (u *upCluster) start(ctx context.Context) (stop func() error, err error) {
	cluster, err := minikcm.Start(ctx, u.opts)
	if err != nil {
		return notStarted, err
	}
	u.current.Store(cluster)
	stopTrim := trimStart(cluster)
	end := func() error {
		stopTrim()
		return cluster.Close()
	}
	if !u.with.chaosMesh {
		u.resets.setReady()
		return end, nil
	}
	stopChaos, err := runChaosMesh(ctx, cluster, u.opts.Logger)
	if err != nil {
		return notStarted, errors.Join(err, end())
	}
	u.resets.setReady()
	return func() error {
		stopChaos()
		return end()
	}, nil
}

// notStarted is the stop function of a cluster that did not start.
func notStarted() error { return nil }

// restart stops the cluster and starts a new one with the initial options, the same address
// and the same seed, which accepts the same kubeconfigs and tokens.
func (u *upCluster) restart(ctx context.Context, stop func() error) (func() error, error) {
	old := u.current.Load()
	_, port, err := net.SplitHostPort(old.Address())
	if err != nil {
		return stop, err
	}
	if u.opts.API.Port, err = strconv.Atoi(port); err != nil {
		return stop, err
	}
	u.opts.Seed = old.Seed()
	if err := stop(); err != nil {
		return notStarted, err
	}
	u.opts.Security.Identity = old.Identity()
	if u.opts.Clock.Mode == clock.ModeVirtual {
		u.opts.Clock.Start = clock.Real().Now()
	}
	return u.start(ctx)
}

// register adds the cluster to the registry that "minikcm list" reads.
func (u *upCluster) register() (remove func(), err error) {
	registered := runningCluster{
		Name: u.with.name, PID: os.Getpid(), Kubeconfig: u.opts.API.KubeconfigPath, Server: "https://" + u.current.Load().Address(),
		Started: clock.Real().Now(), DataDir: u.opts.Storage.DataDir, Clock: u.with.clock,
	}
	if u.with.ui {
		registered.Page = "http://" + u.page.Address()
	}
	if isDetached() {
		registered.Log, _ = logPath(u.with.name, u.opts.API.KubeconfigPath) // detach has checked it
	}
	return registered.register()
}
