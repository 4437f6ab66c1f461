package parts

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

// roleKinds returns the kinds of roles that this process can run.
func (p *Parts) roleKinds() []string {
	var kinds []string
	if len(p.opts.Selected) > 0 {
		kinds = append(kinds, members.RoleControllers)
	}
	if p.opts.Scheduler != nil {
		kinds = append(kinds, members.RoleScheduler)
	}
	if p.opts.hasNodes() {
		kinds = append(kinds, members.RoleAddresses, members.RoleNodes)
	}
	return kinds
}

// newMember returns this process as a member of the processes that share the etcd. Its roles end with ctx.
func (p *Parts) newMember(ctx context.Context) (*sharing.Member, error) {
	config := p.ownConfig("system:apiserver", auth.GroupMasters)
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
		Client: client, Clock: clock.Real(), Logger: p.opts.Logger,
		// A process that starts again is another member, also with the same seed.
		Identity: fmt.Sprintf("%s_%016x", hostname, clock.NewSeed()), Hostname: hostname, Address: p.advertised(),
		Kinds: p.roleKinds(),
		Start: func(_ context.Context, roles map[string]fence.Token) error { return p.startRoles(ctx, roles) },
		Stop:  p.stopRole,
	}), nil
}

// advertised returns the address and port that the member lease names; empty without HTTPS.
func (p *Parts) advertised() string {
	host, port, err := net.SplitHostPort(p.address)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(cmp.Or(p.opts.AdvertiseAddress, host), port)
}

// membership is the part that makes this process a member.
const membership = "membership of this process"

// startSharing starts the kubelets and the member, which starts everything else when this
// process gets the role.
func (p *Parts) startSharing(ctx context.Context) error {
	p.shared.terms = map[string]*term{}
	member := p.announced
	if member == nil {
		var err error
		if member, err = p.newMember(ctx); err != nil {
			return err
		}
		p.built = append(p.built, part{membership, member.Run})
	} else {
		member.Join(p.advertised())
	}
	p.shared.member.Store(member)
	p.env.StartInformers()
	p.startBuilt(ctx)
	return nil
}

// fenceOf returns the context of the kubelets' requests for a role.
func fenceOf(token fence.Token) kubeletsim.Fence {
	return func(ctx context.Context) context.Context { return fence.With(ctx, token) }
}

// startRoles starts roles of this process. After an error none of them runs.
func (p *Parts) startRoles(ctx context.Context, roles map[string]fence.Token) error {
	shards := map[int]kubeletsim.Fence{}
	for role, token := range roles {
		if shard, ok := members.ShardOfRole(role); ok {
			shards[shard] = fenceOf(token)
		}
	}
	if len(shards) > 0 {
		if err := p.Kubelets.Gain(ctx, shards); err != nil {
			return err
		}
	}
	if token, ok := roles[members.RoleAddresses]; ok {
		if err := p.Kubelets.StartAssigning(ctx, fenceOf(token)); err != nil {
			for shard := range shards {
				p.Kubelets.Lose(ctx, shard)
			}
			return err
		}
	}
	if token, ok := roles[members.RoleControllers]; ok {
		p.startTerm(ctx, members.RoleControllers, func(ctx context.Context) error { return p.runControllers(ctx, token) })
	}
	if token, ok := roles[members.RoleScheduler]; ok {
		p.startTerm(ctx, members.RoleScheduler, func(ctx context.Context) error { return p.runScheduler(ctx, token) })
	}
	return nil
}

// stopRole ends a role of this process, and returns when it has ended, or ctx.
func (p *Parts) stopRole(ctx context.Context, role string) {
	if shard, ok := members.ShardOfRole(role); ok {
		p.Kubelets.Lose(ctx, shard)
		return
	}
	if role == members.RoleAddresses {
		p.Kubelets.StopAssigning()
		return
	}
	p.shared.mu.Lock()
	t := p.shared.terms[role]
	delete(p.shared.terms, role)
	p.shared.mu.Unlock()
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
func (p *Parts) startTerm(ctx context.Context, role string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(ctx)
	t := &term{cancel, make(chan struct{})}
	p.shared.mu.Lock()
	p.shared.terms[role] = t
	p.shared.mu.Unlock()
	p.opts.Group.running.Go(func() {
		defer close(t.ended)
		defer cancel()
		err := run(ctx)
		if ctx.Err() == nil {
			p.opts.Group.End(fmt.Errorf("the %s failed: %w", role, errors.Join(err, errUnexpected)))
		}
	})
}

// runControllers runs the controllers for one term.
func (p *Parts) runControllers(ctx context.Context, token fence.Token) error {
	e, end, err := p.env.Term(ctx, p.ownConfig("system:kube-controller-manager"), fence.WrapFixed(token))
	if err != nil {
		return err
	}
	defer end()
	e.Random = p.opts.Timing.Random.Fork()
	m, err := p.buildControllers(ctx, e, nil)
	if err != nil {
		return err
	}
	defer p.manager.CompareAndSwap(m, nil)
	return m.Run(ctx)
}

// leaveTimeout bounds the last request of a process that leaves the others.
const leaveTimeout = 2 * time.Second

// leave hands the roles of this process to the others. All of them have ended.
func (p *Parts) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	p.endIdentity(ctx)
	member := cmp.Or(p.shared.member.Load(), p.announced)
	if member == nil {
		return
	}
	if err := member.Leave(ctx); err != nil {
		p.opts.Notices.Error(err, "The other processes on this etcd take over when the Lease expires", "after", members.LeaseDuration)
	}
}

// Roles returns the roles that this process runs at the moment, if it shares its etcd with other
// processes: controllers, scheduler, addresses, and nodes-NN for each shard of the nodes. Without
// a shared etcd it returns nil, and the process runs everything.
func (p *Parts) Roles() []string {
	var roles []string
	member := p.shared.member.Load()
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
func (p *Parts) runsElsewhere(role string) bool {
	member := p.shared.member.Load()
	return member != nil && !member.Runs(role)
}
