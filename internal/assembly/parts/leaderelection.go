package parts

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/election"
	"minikcm.dev/minikcm/internal/inflight"
)

// The processes of upstream that hold a lease of their name.
const (
	processControllers = "kube-controller-manager"
	processScheduler   = "kube-scheduler"
)

// How long a process that has lost its lease takes to start again: as a static pod, at first at
// once, and then after a delay that doubles up to lastProcessRestart. A process that has led for
// resetProcessRestart starts at once again.
const (
	processStart        = time.Second
	firstProcessRestart = 10 * time.Second
	lastProcessRestart  = 5 * time.Minute
	resetProcessRestart = 10 * time.Minute
)

// candidate is a part of the cluster that works while it holds a lease. The part works from the start
// if the lease is free then, as in an empty cluster.
type candidate struct {
	name   string // of the lease, and of the user without "system:"
	client kubernetes.Interface
	events resourcelock.EventRecorder
	random *clock.Random
	clock  clock.Clock
	ledger *clock.Ledger
	// halt ends the work, which start begins anew.
	halt  func() (start func())
	first *election.Elector
	start func() // nil while the part works
}

// newCandidate returns the candidate of a part that halt ends, and halts the part if another process
// may hold the lease, which then expires first.
func (p *Parts) newCandidate(ctx context.Context, name string, halt func() func()) (*candidate, error) {
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(p.ownConfig("system:"+name), "leader-election"))
	if err != nil {
		return nil, fmt.Errorf("making the client of the leader election: %w", err)
	}
	t := p.opts.Timing
	c := &candidate{
		name: name, client: client, events: p.env.Recorder.OwnedBy(name).For(name), random: t.Random.Keyed("leader election of " + name),
		clock: t.Clock, ledger: t.Ledger, halt: halt,
	}
	if c.first, err = c.next(); err != nil {
		return nil, err
	}
	lease, err := client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(inflight.Hurried(ctx), name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil, fmt.Errorf("reading the lease %s: %w", name, err)
	case ptr.Deref(lease.Spec.HolderIdentity, "") != "":
		c.start = halt()
	}
	return c, nil
}

// next returns the election of a process that starts.
func (p *candidate) next() (*election.Elector, error) {
	return election.New(election.Options{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: p.name}, Client: p.client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "minikcm_" + string(p.random.UID()), EventRecorder: p.events},
		},
		Clock: p.clock, Ledger: p.ledger, Random: p.random,
		Lease: election.DefaultLease, Renew: election.DefaultRenew, Retry: election.DefaultRetry,
	})
}

// run takes part in the election until ctx ends. The first election has been joined.
//
//	Hold: the lease is lost, stopping counts   run: halts the part, begins to sleep, stopping.End
//	                                           run: joins as a new process
//	Hold: the lease is acquired: begin
func (p *candidate) run(ctx context.Context) error {
	delay := time.Duration(0)
	for elector := p.first; ; {
		var led time.Time
		stopping := elector.Hold(ctx, func() {
			led = p.clock.Now()
			p.begin()
		})
		if stopping == nil || ctx.Err() != nil {
			stopping.End()
			return nil
		}
		p.start = p.halt()
		if p.clock.Since(led) >= resetProcessRestart {
			delay = 0
		}
		restarting := inflight.Begin(p.ledger, inflight.Action)
		stopping.End()
		err := inflight.Sleep(inflight.With(inflight.Alone(ctx), restarting), p.clock, max(delay, processStart))
		delay = min(max(2*delay, firstProcessRestart), lastProcessRestart)
		if err == nil {
			if elector, err = p.next(); err == nil {
				elector.Join()
			}
		}
		restarting.End()
		if err != nil {
			return err
		}
	}
}

// begin lets the part work.
func (p *candidate) begin() {
	if p.start != nil {
		p.start()
		p.start = nil
	}
}

// candidates returns the candidates of the controllers of kube-controller-manager and of the scheduler,
// which have not started yet. There are none without leader election.
func (p *Parts) candidates(ctx context.Context, m *controllers.Manager) (all []*candidate, err error) {
	if !p.opts.LeaderElection {
		return nil, nil
	}
	add := func(name string, halt func() func()) {
		if err == nil {
			var c *candidate
			c, err = p.newCandidate(ctx, name, halt)
			all = append(all, c)
		}
	}
	add(processControllers, func() func() { return haltControllers(m) })
	if p.scheduler != nil {
		add(processScheduler, p.scheduler.halt)
	}
	return all, err
}

// elect lets a candidate take part in its election.
func (p *Parts) elect(ctx context.Context, c *candidate) {
	c.first.Join()
	p.opts.Group.run(ctx, part{"leader election of " + c.name, c.run})
}

// haltControllers ends all controllers, which start builds anew.
func haltControllers(m *controllers.Manager) (start func()) {
	var ups []func()
	for _, name := range m.Members() {
		if up, err := m.TakeDown(name); err == nil { // the manager has all its members
			ups = append(ups, up)
		}
	}
	return func() {
		for _, up := range ups {
			up()
		}
	}
}
