package minikcm

import (
	"context"
	"fmt"
	"sync"
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
func (c *Cluster) newCandidate(ctx context.Context, e *controllers.Env, name string, halt func() func()) (*candidate, error) {
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(c.ownConfig("system:"+name), "leader-election"))
	if err != nil {
		return nil, fmt.Errorf("making the client of the leader election: %w", err)
	}
	p := &candidate{
		name: name, client: client, events: e.Recorder.OwnedBy(name).For(name), random: c.random.Keyed("leader election of " + name),
		clock: c.clock, ledger: c.ledger, halt: halt,
	}
	if p.first, err = p.next(); err != nil {
		return nil, err
	}
	lease, err := client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(inflight.Hurried(ctx), name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil, fmt.Errorf("reading the lease %s: %w", name, err)
	case ptr.Deref(lease.Spec.HolderIdentity, "") != "":
		p.start = halt()
	}
	return p, nil
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
func (c *Cluster) candidates(ctx context.Context, e *controllers.Env, m *controllers.Manager) (all []*candidate, err error) {
	if !c.opts.Sharing.LeaderElection {
		return nil, nil
	}
	add := func(name string, halt func() func()) {
		if err == nil {
			var p *candidate
			p, err = c.newCandidate(ctx, e, name, halt)
			all = append(all, p)
		}
	}
	add(processControllers, func() func() { return haltControllers(m) })
	if c.scheduler != nil {
		add(processScheduler, c.scheduler.halt)
	}
	return all, err
}

// elect lets a candidate take part in its election.
func (c *Cluster) elect(ctx context.Context, p *candidate) {
	p.first.Join()
	c.runPart(ctx, part{"leader election of " + p.name, p.run})
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

// schedules is a scheduler.Scheduler. Packages that read a Cluster do not compile what that leads to.
type schedules interface {
	Run(ctx context.Context) error
}

// schedulerPart runs the scheduler, and can halt it.
type schedulerPart struct {
	make   func() (schedules, error)
	first  schedules
	ledger *clock.Ledger
	inform func() // starts the informers that a new scheduler has requested

	mu    sync.Mutex
	stop  context.CancelFunc // nil: it has not begun
	waits bool               // halted before it has begun
	ended chan struct{}
	again chan *inflight.Work
}

func (p *schedulerPart) run(ctx context.Context) error {
	for s, own := p.first, p.begin(ctx); ; {
		err := s.Run(own)
		close(p.ended)
		if err != nil || own.Err() == nil || ctx.Err() != nil {
			return err
		}
		select {
		case starting := <-p.again:
			if s, err = p.make(); err == nil {
				p.inform()
				own = p.begin(ctx)
			}
			starting.End() // what the scheduler has to see is counted now
			if err != nil {
				return fmt.Errorf("making the scheduler again: %w", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// begin returns the context of a run, which halt ends.
func (p *schedulerPart) begin(ctx context.Context) context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		p.stop()
	}
	ctx, p.stop = context.WithCancel(ctx)
	if p.waits {
		p.stop() // the scheduler that was built releases what it holds when it runs
	}
	p.waits, p.ended = false, make(chan struct{})
	return ctx
}

// halt ends the scheduler, which start begins anew.
func (p *schedulerPart) halt() (start func()) {
	p.mu.Lock()
	stop, ended := p.stop, p.ended
	p.waits = stop == nil
	p.mu.Unlock()
	if stop != nil {
		stop()
		<-ended
	}
	return sync.OnceFunc(func() { p.again <- inflight.Begin(p.ledger, inflight.Action) })
}
