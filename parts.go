package minikcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/clock/events"
	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/env"
	"minikcm.dev/minikcm/controllers/manager"
	"minikcm.dev/minikcm/controllers/scheduler"
	"minikcm.dev/minikcm/controllers/serviceaccount"
	"minikcm.dev/minikcm/kubeletsim"
)

// part is something that runs from the cluster's start to its end.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// startParts starts what lives off the apiserver: controllers, scheduler, kubelets.
// They share one set of informers, so that every event is decoded once.
func (c *Cluster) startParts() error {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	e, err := c.newEnv()
	if err != nil {
		return err
	}
	signer := c.authority.TLS()
	e.RootCA, e.Authority = c.authority.CertPEM(), &signer
	selected, err := manager.ParseSelection(strings.Join(c.opts.Controllers, ","))
	if err != nil {
		return err
	}
	c.makesAccounts = slices.Contains(selected, serviceaccount.Name)
	m, err := manager.New(e, manager.Options{Selected: selected})
	if err != nil {
		return err
	}
	c.manager.Store(m)
	var parts []part
	if !c.opts.NoScheduler {
		world := c.envOf(e, "system:kube-scheduler")
		world.Recorder = e.Recorder.OwnedBy("kube-scheduler")
		s, err := scheduler.New(ctx, world)
		if err != nil {
			return fmt.Errorf("making the scheduler: %w", err)
		}
		parts = append(parts, part{"scheduler", s.Run})
	}
	if c.kubelets, err = kubeletsim.New(c.kubeletOptions(e)); err != nil {
		return fmt.Errorf("making the kubelets: %w", err)
	}
	c.logs.kubelets.Store(c.kubelets)
	// The manager comes last: it starts the informers that all use, and the recorder.
	parts = append(parts, part{"kubelets", c.kubelets.Run}, part{"controller manager", m.Run})
	// Until the kubelets know their nodes, nothing that must be done is in flight:
	// time must not pass meanwhile.
	beginning := inflight.Begin(c.ledger, inflight.Action)
	c.parts.Go(func() {
		defer beginning.End()
		<-c.kubelets.Begun()
	})
	for _, p := range parts {
		c.runPart(ctx, p)
	}
	return nil
}

// newEnv is the world of the controllers.
func (c *Cluster) newEnv() (*env.Env, error) {
	config := c.ownConfig("system:kube-controller-manager")
	factory, err := informers.NewForConfig(config, c.ledger, informers.WithoutManagedFields())
	if err != nil {
		return nil, err
	}
	recording := rest.CopyConfig(config)
	recording.UserAgent = "minikcm/event-recorder"
	client, err := kubernetes.NewForConfig(recording)
	if err != nil {
		return nil, fmt.Errorf("making the event recorder's client: %w", err)
	}
	return &env.Env{
		Clock: c.clock, Ledger: c.ledger, Random: c.random.Fork(), Config: config, Informers: factory, Logger: c.opts.Logger,
		Recorder:  events.NewRecorder(client.CoreV1(), c.clock, c.ledger, c.random.Fork(), "minikcm"),
		MintToken: c.tokenKey.IssueLegacy,
	}, nil
}

// ownConfig is the configuration of one of the cluster's own parts, which know built-in
// kinds only and speak protobuf.
func (c *Cluster) ownConfig(user string, groups ...string) *rest.Config {
	return apiserver.Protobuf(c.server.Config(user, append(groups, auth.GroupMasters)...))
}

// envOf is the same world for somebody else.
func (c *Cluster) envOf(e *env.Env, user string) *env.Env {
	other := *e
	other.Config = c.ownConfig(user)
	other.Random = c.random.Fork()
	return &other
}

func (c *Cluster) kubeletOptions(e *env.Env) kubeletsim.Options {
	return kubeletsim.Options{
		Config: c.ownConfig("system:node:minikcm", "system:nodes"), Informers: e.Informers,
		Clock: c.clock, Ledger: c.ledger, Random: c.random.Fork(), Recorder: e.Recorder.OwnedBy("kubelet").For(kubeletsim.Component), Logger: c.opts.Logger,
		Nodes: c.opts.Nodes, Node: c.opts.Node, Pools: c.opts.Pools, ManageNodes: c.opts.ManageNodes, Latencies: c.opts.Latencies,
	}
}

func (c *Cluster) runPart(ctx context.Context, p part) {
	c.parts.Add(1)
	go func() {
		defer c.parts.Done()
		err := p.run(ctx)
		if ctx.Err() == nil {
			if err == nil {
				err = errors.New("it returned before it was stopped")
			}
			c.stopped(fmt.Errorf("the %s failed: %w", p.name, err))
		}
	}()
}

// stopped notes why the cluster is no more.
func (c *Cluster) stopped(err error) {
	c.failOnce.Do(func() {
		c.failure = err
		close(c.done)
	})
}

func (c *Cluster) stopParts() {
	if c.cancel != nil {
		c.cancel()
	}
	c.parts.Wait()
	c.stopped(nil)
}
