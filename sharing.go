package minikcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/fence"
	"minikcm.dev/minikcm/internal/members"
	"minikcm.dev/minikcm/internal/sharing"
	"minikcm.dev/minikcm/kubeletsim"
)

// sharedRoles are the roles that run in this process, if it shares an etcd with others.
type sharedRoles struct {
	// member is nil until the process takes part.
	member atomic.Pointer[sharing.Member]

	mu sync.Mutex
	// terms are the parts that run as long as the process has their role.
	terms map[string]*term
}

// term is one time that a part runs.
type term struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// shares reports whether other processes may run on the same etcd. On a virtual clock a cluster
// is alone, because clocks that jump by themselves cannot agree.
func (o *Options) shares() bool {
	return len(o.Sharing.Etcd.Endpoints) > 0 && o.Clock.Mode != clock.ModeVirtual
}

// roleKinds returns the kinds of roles that this process can run.
func (o *Options) roleKinds(controllers []string) []string {
	var kinds []string
	if len(controllers) > 0 {
		kinds = append(kinds, members.RoleControllers)
	}
	if !o.Controllers.NoScheduler {
		kinds = append(kinds, members.RoleScheduler)
	}
	if o.Nodes.Count > 0 || len(o.Nodes.Pools) > 0 || o.Nodes.Manage != ManageNone {
		kinds = append(kinds, members.RoleAddresses, members.RoleNodes)
	}
	return kinds
}

// newMember returns this process as a member of the processes that share the etcd. Its roles end with ctx.
func (c *Cluster) newMember(ctx context.Context, e *controllers.Env, controllers []string) (*sharing.Member, error) {
	config := c.ownConfig("system:apiserver", auth.GroupMasters)
	config.UserAgent = "minikcm/member"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client of the member lease: %w", err)
	}
	hostname, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("reading the host's name for the member lease: %w", err)
	}
	return sharing.New(sharing.Options{
		Client: client, Clock: clock.Real(), Logger: c.opts.Logger,
		// A process that starts again is another member, also with the same seed.
		Identity: fmt.Sprintf("%s_%016x", hostname, clock.NewSeed()), Hostname: hostname, Address: c.advertised(),
		Kinds: c.opts.roleKinds(controllers),
		Start: func(_ context.Context, roles map[string]fence.Token) error { return c.startRoles(ctx, e, roles) },
		Stop:  c.stopRole,
	}), nil
}

// advertised returns the address and port that the member lease names; empty without HTTPS.
func (c *Cluster) advertised() string {
	if c.https == nil {
		return ""
	}
	host, port, err := net.SplitHostPort(c.https.Address())
	if err != nil {
		return ""
	}
	if c.opts.API.AdvertiseAddress != "" {
		host = c.opts.API.AdvertiseAddress
	}
	return net.JoinHostPort(host, port)
}

// membership is the part that makes this process a member.
const membership = "membership of this process"

// startSharing starts the kubelets and the member, which starts everything else when this
// process gets the role.
func (c *Cluster) startSharing(ctx context.Context, e *controllers.Env) error {
	selected, err := c.selectedControllers()
	if err != nil {
		return err
	}
	c.shared.terms = map[string]*term{}
	member := c.announced
	if member == nil {
		if member, err = c.newMember(ctx, e, selected); err != nil {
			return err
		}
		c.built = append(c.built, part{membership, member.Run})
	} else {
		member.Join(c.advertised())
	}
	c.shared.member.Store(member)
	e.StartInformers()
	for _, p := range c.built {
		c.runPart(ctx, p)
	}
	c.built = nil
	return nil
}

// fenceOf returns the context of the kubelets' requests for a role.
func fenceOf(token fence.Token) kubeletsim.Fence {
	return func(ctx context.Context) context.Context { return fence.With(ctx, token) }
}

// startRoles starts roles of this process. After an error none of them runs.
func (c *Cluster) startRoles(ctx context.Context, e *controllers.Env, roles map[string]fence.Token) error {
	shards := map[int]kubeletsim.Fence{}
	for role, token := range roles {
		if shard, ok := members.ShardOfRole(role); ok {
			shards[shard] = fenceOf(token)
		}
	}
	if len(shards) > 0 {
		if err := c.kubelets.Gain(ctx, shards); err != nil {
			return err
		}
	}
	if token, ok := roles[members.RoleAddresses]; ok {
		if err := c.kubelets.StartAssigning(ctx, fenceOf(token)); err != nil {
			for shard := range shards {
				c.kubelets.Lose(ctx, shard)
			}
			return err
		}
	}
	if token, ok := roles[members.RoleControllers]; ok {
		c.startTerm(ctx, members.RoleControllers, func(ctx context.Context) error { return c.runControllers(ctx, e, token) })
	}
	if token, ok := roles[members.RoleScheduler]; ok {
		c.startTerm(ctx, members.RoleScheduler, func(ctx context.Context) error { return c.runScheduler(ctx, e, token) })
	}
	return nil
}

// stopRole ends a role of this process, and returns when it has ended, or ctx.
func (c *Cluster) stopRole(ctx context.Context, role string) {
	if shard, ok := members.ShardOfRole(role); ok {
		c.kubelets.Lose(ctx, shard)
		return
	}
	if role == members.RoleAddresses {
		c.kubelets.StopAssigning()
		return
	}
	c.shared.mu.Lock()
	t := c.shared.terms[role]
	delete(c.shared.terms, role)
	c.shared.mu.Unlock()
	if t == nil {
		return
	}
	t.cancel()
	select {
	case <-t.ended:
	case <-ctx.Done():
	}
}

// startTerm runs a part until its role is lost or ctx ends. The cluster fails if the part ends
// before.
func (c *Cluster) startTerm(ctx context.Context, role string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(ctx)
	t := &term{cancel, make(chan struct{})}
	c.shared.mu.Lock()
	c.shared.terms[role] = t
	c.shared.mu.Unlock()
	c.parts.Go(func() {
		defer close(t.ended)
		defer cancel()
		err := run(ctx)
		if ctx.Err() == nil {
			c.stopped(fmt.Errorf("the %s failed: %w", role, errors.Join(err, errUnexpected)))
		}
	})
}

// errUnexpected is the failure of a part that ends without an error.
var errUnexpected = errors.New("it stopped unexpectedly")

// runControllers runs the controllers for one term.
func (c *Cluster) runControllers(ctx context.Context, shared *controllers.Env, token fence.Token) error {
	e, end, err := shared.Term(ctx, c.ownConfig("system:kube-controller-manager"), fence.WrapFixed(token))
	if err != nil {
		return err
	}
	defer end()
	e.Random = c.random.Fork()
	m, err := c.buildControllers(ctx, e, nil)
	if err != nil {
		return err
	}
	defer c.manager.CompareAndSwap(m, nil)
	return m.Run(ctx)
}

// runScheduler runs the scheduler for one term.
func (c *Cluster) runScheduler(ctx context.Context, shared *controllers.Env, token fence.Token) error {
	e, end, err := shared.Term(ctx, c.ownConfig("system:kube-scheduler"), fence.WrapFixed(token))
	if err != nil {
		return err
	}
	defer end()
	e.Random = c.random.Fork()
	e.Recorder = shared.Recorder.OwnedBy("kube-scheduler")
	opts, err := c.opts.schedulerOptions()
	if err != nil {
		return err
	}
	s, err := controllers.NewScheduler(ctx, e, opts)
	if err != nil {
		return fmt.Errorf("making the scheduler: %w", err)
	}
	e.StartInformers()
	return s.Run(ctx)
}

// leaveTimeout bounds the last request of a process that leaves the others.
const leaveTimeout = 2 * time.Second

// leave hands the roles of this process to the others. All of them have ended.
func (c *Cluster) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	c.endIdentity(ctx)
	member := cmp.Or(c.shared.member.Load(), c.announced)
	if member == nil {
		return
	}
	if err := member.Leave(ctx); err != nil {
		c.opts.Notices.Error(err, "The other processes on this etcd take over when the Lease expires", "after", members.LeaseDuration)
	}
}

// Roles returns the roles that this process runs at the moment, if it shares its etcd with other
// processes: controllers, scheduler, addresses, and nodes-NN for each shard of the nodes. Without
// a shared etcd it returns nil, and the process runs everything.
func (c *Cluster) Roles() []string {
	var roles []string
	member := c.shared.member.Load()
	if member == nil {
		return nil
	}
	for _, role := range members.AllRoles() {
		if member.Runs(role) {
			roles = append(roles, role)
		}
	}
	return roles
}

// runsElsewhere reports whether the role is left to the other processes on the etcd.
func (c *Cluster) runsElsewhere(role string) bool {
	member := c.shared.member.Load()
	return member != nil && !member.Runs(role)
}

// selectedControllers returns the controllers that the options select.
func (c *Cluster) selectedControllers() ([]string, error) {
	return c.opts.selectedControllers()
}
