package minikcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/events"
	"minikcm.dev/minikcm/internal/fence"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/members"
	"minikcm.dev/minikcm/internal/simulatedcloud"
	"minikcm.dev/minikcm/kubeletsim"
)

// part is something that runs from the cluster's start to its end.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// buildParts builds the scheduler and the kubelets, which make no request yet: the
// apiserver gets the kubelets as its way to containers. The environment is the one that
// they share with the controllers, so that every event is decoded once.
func (c *Cluster) buildParts(ctx context.Context) (*controllers.Env, error) {
	e, err := c.newEnv()
	if err != nil {
		return nil, err
	}
	if err := c.buildScheduler(ctx, e); err != nil {
		return nil, err
	}
	options, err := c.kubeletOptions(e)
	if err != nil {
		return nil, err
	}
	if c.kubelets, err = kubeletsim.New(options); err != nil {
		return nil, fmt.Errorf("making the kubelets: %w", err)
	}
	c.heartbeats.From(c.kubelets)
	c.built = append(c.built, part{"kubelets", c.kubelets.Run})
	if err := c.buildStages(e); err != nil {
		return nil, fmt.Errorf("making the part that plays Stages: %w", err)
	}
	return e, c.makePeers()
}

// buildScheduler builds the scheduler, unless there is none or processes divide the work.
func (c *Cluster) buildScheduler(ctx context.Context, e *controllers.Env) (err error) {
	if c.opts.Controllers.NoScheduler || c.opts.shares() {
		return nil
	}
	own := c.envOf(e, "system:kube-scheduler")
	own.Recorder = e.Recorder.OwnedBy("kube-scheduler")
	p := &schedulerPart{ledger: c.ledger, inform: e.StartInformers, again: make(chan *inflight.Work, 1)}
	p.make = func() (schedules, error) {
		opts, err := c.opts.schedulerOptions()
		if err != nil {
			return nil, err
		}
		return controllers.NewScheduler(ctx, own, opts)
	}
	if p.first, err = p.make(); err != nil {
		return fmt.Errorf("making the scheduler: %w", err)
	}
	c.scheduler = p
	c.built = append(c.built, part{"scheduler", p.run})
	return nil
}

// startParts builds the controllers and starts all parts. All of them have requested their
// informers before the informers start. They end with ctx.
func (c *Cluster) startParts(ctx context.Context, e *controllers.Env) error {
	selected, err := c.selectedControllers()
	if err != nil {
		return err
	}
	c.makesAccounts = slices.Contains(selected, controllers.ServiceAccount)
	if slices.Contains(selected, controllers.NodeLifecycle) {
		c.newTaints = append(c.newTaints, corev1.TaintNodeNotReady)
	}
	if c.opts.inCloud() && slices.Contains(selected, controllers.CloudNode) {
		c.newTaints = append(c.newTaints, simulatedcloud.TaintUninitialized)
	}
	c.endShared = e.Begin(ctx)
	if c.opts.shares() {
		return c.startSharing(ctx, e)
	}
	up := make(chan struct{})
	m, err := c.buildControllers(ctx, e, func() { close(up) })
	if err != nil {
		return err
	}
	candidates, err := c.candidates(ctx, e, m)
	if err != nil {
		return err
	}
	e.StartInformers()
	// The ledger counts the start, so that virtual time does not pass before the kubelets
	// know their nodes and the controllers run.
	starting := inflight.Begin(c.ledger, inflight.Action)
	c.parts.Go(func() {
		defer starting.End()
		for _, begun := range []<-chan struct{}{c.kubelets.Begun(), up} {
			select {
			case <-begun:
			case <-ctx.Done():
			}
		}
	})
	for _, p := range append(c.built, part{"controller manager", m.Run}) {
		c.runPart(ctx, p)
	}
	c.built = nil
	for _, p := range candidates {
		c.elect(ctx, p)
	}
	return nil
}

// buildControllers builds the manager and its controllers. up is called when they run.
func (c *Cluster) buildControllers(ctx context.Context, e *controllers.Env, up func()) (*controllers.Manager, error) {
	signer := c.authority.TLS()
	e.RootCA, e.Authority = c.authority.CertPEM(), &signer
	selected, err := c.selectedControllers()
	if err != nil {
		return nil, err
	}
	m, err := controllers.New(e, controllers.Options{Selected: selected, Settings: c.opts.controllerSettings(), Up: up})
	if err != nil {
		return nil, err
	}
	if err := m.Build(ctx); err != nil {
		return nil, err
	}
	c.manager.Store(m)
	return m, nil
}

// newEnv returns the environment of the controllers.
func (c *Cluster) newEnv() (*controllers.Env, error) {
	config := c.ownConfig("system:kube-controller-manager")
	kinds, err := informers.KindsFor(config, c.ledger, informers.WithoutManagedFields(), informers.ByReference())
	if err != nil {
		return nil, err
	}
	recording := rest.CopyConfig(config)
	recording.UserAgent = "minikcm/event-recorder"
	client, err := kubernetes.NewForConfig(recording)
	if err != nil {
		return nil, fmt.Errorf("making the event recorder's client: %w", err)
	}
	return &controllers.Env{
		Clock: c.clock, Ledger: c.ledger, Random: c.random.Fork(), Config: config, Informers: kinds, Logger: c.opts.Logger,
		Recorder:  events.NewRecorder(client.CoreV1(), c.clock, c.ledger, c.random.Fork(), "minikcm"),
		MintToken: c.signingKey.IssueLegacy, Account: c.accountConfig, Registry: c.collected, Heartbeats: c.heartbeats,
	}, nil
}

// ownConfig returns the configuration of one of the cluster's own parts, which use built-in
// kinds only and send protobuf.
func (c *Cluster) ownConfig(user string, groups ...string) *rest.Config {
	return apiserver.Protobuf(c.local.Config(user, groups...))
}

// accountConfig returns the configuration of a controller, which acts as its service
// account.
func (c *Cluster) accountConfig(account string) (*rest.Config, error) {
	const namespace = metav1.NamespaceSystem
	groups := auth.AccountGroups(namespace)
	if controllers.IsDriver(account) {
		groups = append(groups, user.SystemPrivilegedGroup)
	}
	return c.ownConfig(auth.AccountName(namespace, account), groups...), nil
}

// denied reports that a controller or the scheduler lacks a permission. Other service accounts in
// kube-system, such as an operator's, may be denied anything.
func (c *Cluster) denied(user string, err error) {
	account := strings.TrimPrefix(user, auth.AccountName(metav1.NamespaceSystem, ""))
	if account != user && !slices.ContainsFunc(controllers.Descriptors(), func(d controllers.Descriptor) bool { return d.Account == account }) {
		return
	}
	if c.opts.Security.Denied != nil {
		c.opts.Security.Denied(user, err)
		return
	}
	c.opts.Notices.Error(err, "A component of the cluster lacks a permission", "user", user)
}

// envOf returns a copy of the environment for a part that acts as user.
func (c *Cluster) envOf(e *controllers.Env, user string) *controllers.Env {
	other := *e
	other.Config = c.ownConfig(user)
	other.Random = c.random.Fork()
	return &other
}

// asNode returns a function whose contexts make requests as the kubelet of a node. Without the
// authorization mode Node, no role allows a kubelet anything, as upstream: then kubelets are
// administrators.
func (c *Cluster) asNode() func(ctx context.Context, node string) context.Context {
	var groups []string
	modes := c.opts.Security.AuthorizationModes
	if len(modes) > 0 && !slices.Contains(modes, apiserver.AuthorizeNode) {
		groups = []string{auth.GroupMasters}
	}
	return func(ctx context.Context, node string) context.Context { return apiserver.AsNode(ctx, node, groups...) }
}

// configOfPod returns the configuration of a client with the permissions of a pod's service account.
func (c *Cluster) configOfPod(pod *corev1.Pod) *rest.Config {
	return apiserver.Protobuf(c.server.Config(auth.AccountName(pod.Namespace, pod.Spec.ServiceAccountName), auth.AccountGroups(pod.Namespace)...))
}

func (c *Cluster) kubeletOptions(e *controllers.Env) (kubeletsim.Options, error) {
	config := apiserver.Protobuf(c.local.KubeletsConfig())
	var shardOf func(string) int
	if c.opts.shares() {
		config.Wrap(fence.Wrap)
		shardOf = members.ShardOf
	}
	var inCloud kubernetes.Interface
	if c.opts.inCloud() {
		var err error
		if inCloud, err = c.cloudClient(e); err != nil {
			return kubeletsim.Options{}, err
		}
	}
	return kubeletsim.Options{
		Config: config, ShardOf: shardOf, Informers: e.Informers,
		AsNode: c.asNode(), ConfigOf: c.configOfPod, MayRegister: apiserver.MayRegister,
		Clock: c.clock, Ledger: c.ledger, Random: c.random.Fork(), Recorder: e.Recorder.OwnedBy("kubelet").For(kubeletsim.Component), Logger: c.opts.Logger,
		Nodes: c.opts.Nodes.Count, Node: c.opts.Nodes.Spec, Pools: c.opts.Nodes.Pools, ManageNodes: c.opts.Nodes.Manage, Latencies: c.opts.Nodes.Latencies,
		KubeletVersion: c.opts.kubernetesVersion(), AwaitPodCIDRs: c.opts.Nodes.PodNetworks.Allocate, Families: c.opts.families(), Seed: c.opts.Seed, Cloud: inCloud, Gather: c.gather(), Heartbeats: c.heartbeats,
		Observe: c.opts.observes(),
	}, nil
}

// gather returns the grid of the kubelets' heartbeats. On a clock that is not real, all events have
// the times that the seed determines.
func (c *Cluster) gather() time.Duration {
	if c.opts.Clock.Mode == "" || c.opts.Clock.Mode == clock.ModeReal {
		return 100 * time.Millisecond
	}
	return 0
}

// cloudClient returns the client with which machines act on the simulated cloud.
func (c *Cluster) cloudClient(e *controllers.Env) (kubernetes.Interface, error) {
	config, err := controllers.CloudConfig(e)
	if err != nil {
		return nil, err
	}
	if c.opts.shares() {
		config.Wrap(fence.Wrap)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client of the cloud: %w", err)
	}
	return client, nil
}

func (c *Cluster) runPart(ctx context.Context, p part) {
	c.parts.Add(1)
	go func() {
		defer c.parts.Done()
		err := p.run(ctx)
		if ctx.Err() == nil {
			if err == nil {
				err = errUnexpected
			}
			c.stopped(fmt.Errorf("the %s failed: %w", p.name, err))
		}
	}()
}

// stopped closes done, and keeps the first error as the cluster's failure.
func (c *Cluster) stopped(err error) {
	c.failOnce.Do(func() {
		c.failure = err
		close(c.done)
	})
}

// stopParts ends the parts, and the resources that they share.
func (c *Cluster) stopParts() (err error) {
	if c.cancel != nil {
		c.cancel()
	}
	c.endFaults()
	c.parts.Wait()
	c.leave()
	// A part that was built and never started releases its resources when it runs in a context that has ended.
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, p := range c.built {
		err = errors.Join(err, p.run(ended))
	}
	if c.endShared != nil {
		err = errors.Join(err, c.endShared())
	}
	c.stopped(nil)
	return err
}
