package main

import (
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
	"minikcm.dev/minikcm/controllers/manager"
	"minikcm.dev/minikcm/controllers/manager/serving"
	"minikcm.dev/minikcm/internal/forkapi"
	"minikcm.dev/minikcm/internal/ui"
	"minikcm.dev/minikcm/scenarios/report"
)

// upCluster runs the cluster of "minikcm up". Each reset replaces the cluster with a new one.
type upCluster struct {
	opts      minikcm.Options
	chaosMesh bool
	resets    *resets
	current   atomic.Pointer[minikcm.Cluster]
}

// up runs a cluster until the command is interrupted or the cluster fails.
func up(cmd *cobra.Command, opts minikcm.Options, with upExtras) (err error) {
	if opts.KubeconfigPath, err = filepath.Abs(opts.KubeconfigPath); err != nil {
		return err
	}
	opts.Notices, opts.Flags = notices(cmd.ErrOrStderr()), flagValues(cmd)
	u := &upCluster{opts: opts, chaosMesh: with.chaosMesh, resets: newResets(&opts)}
	u.opts.Extensions = append(u.opts.Extensions, u.resets.extension())
	u.opts.Gatherer = serving.Gatherer(func() []manager.Status {
		if cluster := u.current.Load(); cluster != nil {
			return cluster.Controllers()
		}
		return nil
	})
	page, err := u.servePage(cmd.Context(), with.ui)
	if err != nil {
		return err
	}
	defer page.Close()
	elapsed := clock.Stopwatch()
	stop, err := u.start(cmd.Context())
	if err != nil {
		return startError(cmd.Context(), err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	remove, err := u.register()
	if err != nil {
		return err
	}
	defer remove()
	if err := printLoaded(cmd, u.current.Load()); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "export KUBECONFIG=%s\n", shellQuote(u.opts.KubeconfigPath)); err != nil {
		return err
	}
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...) }
	cluster := u.current.Load()
	say("%s ready at https://%s in %v (seed %d). Stop it with Ctrl-C.",
		describeNodes(cmd.Context(), cluster), cluster.Address(), elapsed().Round(time.Millisecond), cluster.Seed())
	if with.ui {
		say("Open the live page at %s (once; \"minikcm ui\" prints another link).", page.Link())
	}
	for {
		select {
		case <-cmd.Context().Done():
			say("Stopping.")
			return nil
		case <-u.current.Load().Done():
			return u.current.Load().Err()
		case user := <-u.resets.asked:
			elapsed := clock.Stopwatch()
			if stop, err = u.restart(cmd.Context(), stop); err != nil {
				return startError(cmd.Context(), err)
			}
			say("Reset by %s: ready again in %v.", user, elapsed().Round(time.Millisecond))
		}
	}
}

// servePage serves the live page, for this cluster and those that replace it. Without it, the
// page is nil.
func (u *upCluster) servePage(ctx context.Context, wanted bool) (*ui.Server, error) {
	if !wanted {
		return nil, nil
	}
	opts := ui.Options{Logger: u.opts.Logger, StyleSources: []string{report.StyleSource()}} // it opens reports
	page, err := ui.Listen(ctx, opts)
	if err == nil {
		u.opts.Extensions = append(u.opts.Extensions, page.Extension(), forkapi.Extension(forkapi.Options{Cluster: u.opts, Extensions: ownExtensions, Page: opts}))
	}
	return page, err
}

// describeNodes counts the nodes, and those that this process simulates if others run, too.
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
	if !u.chaosMesh {
		u.resets.setReady()
		return cluster.Close, nil
	}
	stopChaos, err := runChaosMesh(ctx, cluster, u.opts.Logger)
	if err != nil {
		return notStarted, errors.Join(err, cluster.Close())
	}
	u.resets.setReady()
	return func() error {
		stopChaos()
		return cluster.Close()
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
	if u.opts.Port, err = strconv.Atoi(port); err != nil {
		return stop, err
	}
	u.opts.Seed = old.Seed()
	if err := stop(); err != nil {
		return notStarted, err
	}
	u.opts.Identity = old.Identity()
	if u.opts.ClockMode == clock.ModeVirtual {
		u.opts.ClockStart = clock.Real().Now()
	}
	return u.start(ctx)
}

// register adds the cluster to the registry that "minikcm list" reads.
func (u *upCluster) register() (remove func(), err error) {
	registered := runningCluster{
		PID: os.Getpid(), Kubeconfig: u.opts.KubeconfigPath, Server: "https://" + u.current.Load().Address(), Started: clock.Real().Now(), DataDir: u.opts.DataDir,
	}
	return registered.register()
}
