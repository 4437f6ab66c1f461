package sharing

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/fence"
	"minikcm.dev/minikcm/internal/members"
)

// Options configure a Member.
type Options struct {
	Client kubernetes.Interface
	// Clock measures the Leases; it must run as the clocks of the other processes do, whatever the cluster's
	// clock is.
	Clock  clock.Clock
	Logger klog.Logger
	// Identity is unique among all processes, including past ones.
	Identity string
	// Hostname labels the Lease. Address is the value of members.AddressAnnotation, unless Join sets another.
	Hostname, Address string
	// Kinds are the kinds of roles that this process can run.
	Kinds []string
	// Start starts roles, whose writes must carry their tokens. Calls do not overlap. After an
	// error none of the roles runs, and Start is called again.
	Start func(ctx context.Context, roles map[string]fence.Token) error
	// Stop ends a role and returns when it has ended, or ctx.
	Stop func(ctx context.Context, role string)
}

// Member is this process among those that share one etcd. Create it with New, then call Run once.
type Member struct {
	opts Options
	// name is the name of the own Lease.
	name     string
	liveness members.Liveness
	// changed is signalled when a Lease changes.
	changed chan struct{}
	// finished delivers the ends of starts and stops.
	finished chan outcome
	working  sync.WaitGroup

	// The following fields belong to the goroutine of Run.

	// own is the own Lease as last written; nil before, and after it was lost.
	own *coordinationv1.Lease
	// renewed is when the last successful renewal began, tried when the last attempt did.
	renewed, tried time.Time
	// known are the Leases of members that were observed last.
	known []*coordinationv1.Lease
	roles map[string]members.RoleState
	// busy are the roles that are being started or stopped.
	busy     map[string]bool
	starting bool

	mu sync.Mutex
	// running are the revisions of the tokens of the roles that run here.
	running map[string]int64
	// joined reports that the member takes roles, and that others reach it at address.
	joined  bool
	address string
}

// New returns a member that has no Lease yet.
func New(opts Options) *Member {
	return &Member{
		opts: opts, name: members.Name(opts.Identity), changed: make(chan struct{}, 1), finished: make(chan outcome),
		roles: map[string]members.RoleState{}, busy: map[string]bool{}, running: map[string]int64{},
		joined: true, address: opts.Address,
	}
}

// Announce creates the Lease before the process can take roles, and returns when it exists: then the Lease identifies
// the process, but names neither roles nor an address until Join. Call it before Run, which renews the Lease.
func (m *Member) Announce(ctx context.Context) error {
	m.mu.Lock()
	m.joined = false
	m.mu.Unlock()
	for {
		if m.renew(ctx); m.own != nil {
			return nil
		}
		timer := m.opts.Clock.NewTimer(retryInterval)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// Join lets a member that was announced take roles, and makes its address known.
func (m *Member) Join(address string) {
	m.mu.Lock()
	m.joined, m.address = true, address
	m.mu.Unlock()
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// hasJoined reports whether the member takes roles.
func (m *Member) hasJoined() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.joined
}

// annotations returns the annotations that the own Lease should have.
func (m *Member) annotations() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	annotations := map[string]string{}
	if !m.joined {
		return annotations
	}
	annotations[members.RolesAnnotation] = joinKinds(m.opts.Kinds)
	if m.address != "" {
		annotations[members.AddressAnnotation] = m.address
	}
	return annotations
}

// due reports whether the own Lease has to be written: it does not exist, is old, or lacks an annotation.
func (m *Member) due() bool {
	if m.own == nil || m.since(m.renewed) >= m.interval() {
		return true
	}
	for key, value := range m.annotations() {
		if m.own.Annotations[key] != value {
			return true
		}
	}
	return false
}

// Name returns the name of the member's Lease.
func (m *Member) Name() string { return m.name }

// Runs reports whether the role runs in this process.
func (m *Member) Runs(role string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.running[role]
	return ok
}

// Live reports whether another member renews its Lease, as far as this one has seen.
func (m *Member) Live(name string) bool { return m.liveness.Live(name, m.opts.Clock.Now()) }

// retryInterval is the time between attempts to renew the Lease that fail.
const retryInterval = 250 * time.Millisecond

// Run takes part until ctx ends. It ends no role: the caller does so, and then calls Leave.
func (m *Member) Run(ctx context.Context) error {
	end, leases := m.watch(ctx)
	defer end()
	defer m.working.Wait()
	for {
		next := m.turn(ctx, leases)
		timer := m.opts.Clock.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-timer.C():
		case <-m.changed:
		case done := <-m.finished:
			m.finish(ctx, done)
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// turn renews the Lease if that is due, and acts on what the Leases say. It returns the time
// until the next turn.
func (m *Member) turn(ctx context.Context, known func() []*coordinationv1.Lease) time.Duration {
	if !m.valid() && m.loseAll(ctx) {
		m.liveness.Reset()
	}
	if m.due() && m.since(m.tried) >= retryInterval {
		m.renew(ctx)
	}
	m.observe(known())
	if m.valid() {
		if m.hasJoined() {
			m.decide(ctx)
		}
		m.forget(ctx)
	}
	if m.due() {
		return retryInterval
	}
	return m.interval() - m.since(m.renewed)
}

// isIdle reports whether the member can run no role.
func (m *Member) isIdle() bool { return len(m.opts.Kinds) == 0 }

// interval returns the time between two renewals of the own Lease.
func (m *Member) interval() time.Duration {
	if m.isIdle() {
		return members.IdleRenewInterval
	}
	return members.RenewInterval
}

func (m *Member) since(at time.Time) time.Duration { return m.opts.Clock.Now().Sub(at) }

// valid reports whether others still count this member as live.
func (m *Member) valid() bool {
	return m.own != nil && m.since(m.renewed) < m.interval()+members.RenewDeadline-members.RenewInterval
}

// renew creates or renews the own Lease.
func (m *Member) renew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, members.RenewInterval)
	defer cancel()
	m.tried = m.opts.Clock.Now()
	client := m.opts.Client.CoordinationV1().Leases(members.Namespace)
	var lease *coordinationv1.Lease
	var err error
	if m.own == nil {
		lease, err = client.Create(ctx, m.lease(m.tried), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // an earlier attempt succeeded without an answer
			lease, err = client.Get(ctx, m.name, metav1.GetOptions{})
		}
	} else {
		lease, err = client.Update(ctx, m.renewal(m.own), metav1.UpdateOptions{})
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			lease, err = m.reread(ctx)
		}
	}
	if err != nil {
		m.opts.Logger.Error(err, "Cannot renew the Lease of this process, will retry", "lease", m.name, "after", retryInterval)
		return
	}
	m.own, m.renewed = lease, m.tried
}

// reread returns the own Lease that an attempt without an answer wrote, or creates it again after
// others have deleted it.
func (m *Member) reread(ctx context.Context) (*coordinationv1.Lease, error) {
	client := m.opts.Client.CoordinationV1().Leases(members.Namespace)
	lease, err := client.Get(ctx, m.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return client.Create(ctx, m.lease(m.tried), metav1.CreateOptions{})
	}
	if err != nil {
		return nil, err
	}
	return client.Update(ctx, m.renewal(lease), metav1.UpdateOptions{})
}

// renewal returns a renewed copy of the own Lease.
func (m *Member) renewal(lease *coordinationv1.Lease) *coordinationv1.Lease {
	renewed := lease.DeepCopy()
	renewed.Spec.RenewTime = &metav1.MicroTime{Time: m.tried}
	if renewed.Annotations == nil {
		renewed.Annotations = map[string]string{}
	}
	maps.Copy(renewed.Annotations, m.annotations())
	return renewed
}

// lease returns the own Lease for its creation.
func (m *Member) lease(now time.Time) *coordinationv1.Lease {
	seconds := int32(members.LeaseDuration / time.Second)
	if m.isIdle() {
		seconds = int32(members.IdleLeaseDuration / time.Second)
	}
	labels := map[string]string{members.IdentityLabel: members.IdentityValue}
	if len(validation.IsValidLabelValue(m.opts.Hostname)) == 0 {
		labels[corev1.LabelHostname] = m.opts.Hostname
	}
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: members.Namespace, Name: m.name, Annotations: m.annotations(), Labels: labels,
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &m.opts.Identity, LeaseDurationSeconds: &seconds,
			AcquireTime: &metav1.MicroTime{Time: now}, RenewTime: &metav1.MicroTime{Time: now},
		},
	}
}

// Leave deletes the Lease of this process after its roles have ended, so that others take them
// over at once.
func (m *Member) Leave(ctx context.Context) error {
	if m.own == nil {
		return nil
	}
	err := m.opts.Client.CoordinationV1().Leases(members.Namespace).Delete(ctx, m.name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the Lease %s of this process: %w", m.name, err)
	}
	return nil
}

// loseAll stops all roles, because others may take them over soon.
func (m *Member) loseAll(ctx context.Context) bool {
	m.mu.Lock()
	roles := slices.Sorted(maps.Keys(m.running))
	m.mu.Unlock()
	if len(roles) == 0 {
		return false
	}
	m.opts.Logger.Info("The Lease of this process was not renewed in time; others may take over", "lease", m.name, "roles", len(roles))
	for _, role := range roles {
		m.stop(ctx, role, false)
	}
	return true
}
