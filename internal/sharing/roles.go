package sharing

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/fence"
	"minikcm.dev/minikcm/internal/members"
)

func joinKinds(kinds []string) string { return strings.Join(kinds, ",") }

// watch returns the Leases of members and roles as a watch shows them, which signals changed.
func (m *Member) watch(ctx context.Context) (end func(), leases func() []*coordinationv1.Lease) {
	ctx, cancel := context.WithCancel(ctx)
	factory := informers.KindsOf(m.opts.Client, nil, informers.WithNamespace(members.Namespace))
	informer := factory.Leases()
	signal := func() {
		select {
		case m.changed <- struct{}{}:
		default:
		}
	}
	// The informer is new, so adding a handler cannot fail.
	_, _ = informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { signal() }, UpdateFunc: func(any, any) { signal() }, DeleteFunc: func(any) { signal() },
	})
	lister := informer.Lister().Leases(members.Namespace)
	factory.Start(ctx.Done())
	end = func() {
		cancel()
		factory.Shutdown()
	}
	return end, func() []*coordinationv1.Lease {
		all, err := lister.List(labels.Everything())
		if err != nil {
			return nil
		}
		return all
	}
}

// observe records Leases, which may be older than the Leases of an earlier call.
func (m *Member) observe(leases []*coordinationv1.Lease) {
	var of []*coordinationv1.Lease
	for _, lease := range leases {
		switch {
		case lease.Labels[members.IdentityLabel] == members.IdentityValue:
			of = append(of, lease)
		case lease.Labels[members.RoleLabel] != "":
			m.learn(lease)
		}
	}
	m.liveness.Observe(of, m.opts.Clock.Now())
	m.known = of
}

// learn records the Lease of a role unless a newer one is known.
func (m *Member) learn(lease *coordinationv1.Lease) {
	role := lease.Labels[members.RoleLabel]
	if revision := members.Revision(lease); revision > m.roles[role].Revision {
		holder := ""
		if lease.Spec.HolderIdentity != nil {
			holder = *lease.Spec.HolderIdentity
		}
		m.roles[role] = members.RoleState{Holder: holder, Revision: revision}
	}
}

// refresh reads the Leases from the API: a decision to take or give up a role must not come from
// a watch that is behind. It reports whether it could.
func (m *Member) refresh(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, members.RenewInterval)
	defer cancel()
	list, err := m.opts.Client.CoordinationV1().Leases(members.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		m.opts.Logger.Error(err, "Cannot list the Leases of the processes on this etcd, will retry")
		return false
	}
	leases := make([]*coordinationv1.Lease, len(list.Items))
	present := map[string]bool{}
	for i := range list.Items {
		leases[i] = &list.Items[i]
		present[list.Items[i].Labels[members.RoleLabel]] = true
	}
	for role := range m.roles {
		if !present[role] { // a client deleted it
			delete(m.roles, role)
		}
	}
	m.observe(leases)
	return true
}

// view returns this member's present knowledge.
func (m *Member) view() *members.View {
	now := m.opts.Clock.Now()
	v := &members.View{Self: m.name, Members: map[string][]string{m.name: m.opts.Kinds}, Roles: m.roles}
	for _, lease := range m.known {
		if m.liveness.Live(lease.Name, now) {
			v.Members[lease.Name] = members.Roles(lease)
		}
	}
	v.Members[m.name] = m.opts.Kinds
	return v
}

// decide starts, takes, and gives up roles.
func (m *Member) decide(ctx context.Context) {
	m.stopTaken(ctx)
	if len(m.pending(m.view())) == 0 {
		return
	}
	if !m.refresh(ctx) {
		return
	}
	m.stopTaken(ctx)
	decisions := m.pending(m.view())
	start, take := map[string]int64{}, []string{}
	for _, role := range slices.Sorted(maps.Keys(decisions)) {
		switch decisions[role] {
		case members.Release:
			m.stop(ctx, role, true)
		case members.Take:
			take = append(take, role)
		case members.Run:
			start[role] = m.roles[role].Revision
		}
	}
	m.take(ctx, take)
	for _, role := range take {
		if held := m.roles[role]; held.Holder == m.name {
			start[role] = held.Revision
		}
	}
	m.start(ctx, start)
}

// pending returns the decisions that change something and are not being executed.
func (m *Member) pending(view *members.View) map[string]members.Decision {
	m.mu.Lock()
	defer m.mu.Unlock()
	decisions := map[string]members.Decision{}
	for _, role := range members.AllRoles() {
		_, runs := m.running[role]
		decision := members.Decide(view, role)
		if decision == members.Keep || decision == members.Run && runs || m.busy[role] || m.starting && decision != members.Release {
			continue
		}
		decisions[role] = decision
	}
	return decisions
}

// stopTaken stops the roles that another process has taken over.
func (m *Member) stopTaken(ctx context.Context) {
	m.mu.Lock()
	var lost []string
	for role, revision := range m.running {
		if held := m.roles[role]; held.Holder != m.name || held.Revision != revision {
			lost = append(lost, role)
		}
	}
	m.mu.Unlock()
	slices.Sort(lost)
	for _, role := range lost {
		m.opts.Logger.Info("Another process has taken over", "role", role, "holder", m.roles[role].Holder)
		m.stop(ctx, role, false)
	}
}

// take makes this member the holder of roles. Others may be faster: then nothing changes.
func (m *Member) take(ctx context.Context, roles []string) {
	ctx, cancel := context.WithTimeout(ctx, 2*members.RenewInterval)
	defer cancel()
	var taking sync.WaitGroup
	taken := make([]*coordinationv1.Lease, len(roles))
	for i, role := range roles {
		revision := m.roles[role].Revision
		taking.Go(func() {
			lease, err := m.write(ctx, role, &m.name, revision)
			if err == nil {
				taken[i] = lease
			} else if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && ctx.Err() == nil {
				m.opts.Logger.Error(err, "Cannot take a role, will retry", "role", role)
			}
		})
	}
	taking.Wait()
	for _, lease := range taken {
		if lease != nil {
			m.learn(lease)
		}
	}
}

// write sets the holder of a role whose Lease is at revision; 0 means that there is no Lease. A
// nil holder clears it.
func (m *Member) write(ctx context.Context, role string, holder *string, revision int64) (*coordinationv1.Lease, error) {
	now := metav1.MicroTime{Time: m.opts.Clock.Now()}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: members.Namespace, Name: members.RoleLease(role), Labels: map[string]string{members.RoleLabel: role},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: holder, AcquireTime: &now},
	}
	client := m.opts.Client.CoordinationV1().Leases(members.Namespace)
	if revision == 0 {
		return client.Create(ctx, lease, metav1.CreateOptions{})
	}
	lease.ResourceVersion = members.Version(revision)
	return client.Update(ctx, lease, metav1.UpdateOptions{})
}

// outcome is the end of a start or a stop.
type outcome struct {
	// started are the roles that Start was called with, and their revisions; nil for a stop.
	// failed means that it started none of them.
	started map[string]int64
	failed  bool
	// stopped is the role that Stop ended, which had the revision. release means that its
	// holder is to be cleared.
	stopped  string
	revision int64
	release  bool
}

// start starts roles in the background, so that renewals go on.
func (m *Member) start(ctx context.Context, roles map[string]int64) {
	if len(roles) == 0 {
		return
	}
	tokens := map[string]fence.Token{}
	for role, revision := range roles {
		m.busy[role] = true
		tokens[role] = fence.Token{Namespace: members.Namespace, Name: members.RoleLease(role), Revision: revision}
	}
	m.starting = true
	m.opts.Logger.V(1).Info("Starting roles", "roles", slices.Sorted(maps.Keys(roles)))
	m.working.Go(func() {
		err := m.opts.Start(ctx, tokens)
		if err != nil && ctx.Err() == nil {
			m.opts.Logger.Error(err, "Cannot start roles, will retry", "roles", len(roles))
		}
		m.report(ctx, outcome{started: roles, failed: err != nil})
	})
}

// stop ends a role in the background and then, if release is set, clears its holder.
func (m *Member) stop(ctx context.Context, role string, release bool) {
	m.mu.Lock()
	revision, runs := m.running[role]
	delete(m.running, role)
	m.mu.Unlock()
	if !runs {
		revision = m.roles[role].Revision
	}
	m.busy[role] = true
	m.working.Go(func() {
		if runs {
			m.opts.Stop(ctx, role)
		}
		m.report(ctx, outcome{stopped: role, revision: revision, release: release})
	})
}

func (m *Member) report(ctx context.Context, done outcome) {
	select {
	case m.finished <- done:
	case <-ctx.Done():
	}
}

// finish takes in the end of a start or a stop.
func (m *Member) finish(ctx context.Context, done outcome) {
	if done.started != nil {
		m.starting = false
		m.mu.Lock()
		defer m.mu.Unlock()
		for role, revision := range done.started {
			delete(m.busy, role)
			if !done.failed {
				m.running[role] = revision
			}
		}
		return
	}
	delete(m.busy, done.stopped)
	if !done.release {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, members.RenewInterval)
	defer cancel()
	lease, err := m.write(ctx, done.stopped, nil, done.revision)
	switch {
	case err == nil:
		m.learn(lease)
	case !apierrors.IsConflict(err) && ctx.Err() == nil:
		m.opts.Logger.Error(err, "Cannot release a role, will retry", "role", done.stopped)
	}
}

// forget deletes the Leases of members that ended long ago.
func (m *Member) forget(ctx context.Context) {
	now := m.opts.Clock.Now()
	for _, lease := range m.known {
		if silence, _ := m.liveness.Silence(lease.Name, now); silence < members.Forgotten || lease.Name == m.name {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, members.RenewInterval)
		// Another member may be faster, or the next turn has to try again.
		_ = m.opts.Client.CoordinationV1().Leases(members.Namespace).Delete(ctx, lease.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{ResourceVersion: &lease.ResourceVersion},
		})
		cancel()
	}
}
