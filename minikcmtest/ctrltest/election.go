package ctrltest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/inflight"
)

// The defaults of controller-runtime's leader election.
const (
	defaultLease = 15 * time.Second
	defaultRenew = 10 * time.Second
	defaultRetry = 2 * time.Second
)

// election is a manager's leader election on the cluster's clock. It follows client-go's
// tools/leaderelection, whose elector uses the machine's clock: another candidate's lease
// has expired if it was not observed to change for its duration, and a leader that fails to
// renew its lease within the renew deadline stops leading.
type election struct {
	lock                resourcelock.Interface
	clock               clock.Clock
	ledger              *clock.Ledger
	random              *clock.Random
	lease, renew, retry time.Duration
	releases            bool
	elected             chan struct{} // closed when this manager becomes the leader
	line                *inflight.Line[struct{}]
	ticket              *inflight.Ticket[struct{}]

	// The last observed lease, and when it was observed to change. Only hold and the
	// functions that it calls use them.
	seen   resourcelock.LeaderElectionRecord
	raw    []byte
	seenAt time.Time
}

func (w *world) newElection(config *rest.Config, options manager.Options) (*election, error) {
	e := &election{
		clock: w.clock, ledger: w.ledger, random: w.random.Fork(),
		lease: ptr.Deref(options.LeaseDuration, defaultLease), renew: ptr.Deref(options.RenewDeadline, defaultRenew),
		retry: ptr.Deref(options.RetryPeriod, defaultRetry), releases: options.LeaderElectionReleaseOnCancel,
		elected: make(chan struct{}),
		line:    inflight.NewLine[struct{}](w.ledger, inflight.Key, "leader election"),
	}
	if e.lease <= e.renew || e.renew <= time.Duration(leaderelection.JitterFactor*float64(e.retry)) || e.retry <= 0 {
		return nil, fmt.Errorf("the leader election's LeaseDuration (%v) must be longer than its RenewDeadline (%v), and that longer than %v times its RetryPeriod (%v)",
			e.lease, e.renew, leaderelection.JitterFactor, e.retry)
	}
	if e.lock = options.LeaderElectionResourceLockInterface; e.lock != nil {
		return e, nil
	}
	if options.LeaderElectionID == "" {
		return nil, fmt.Errorf("LeaderElection needs a LeaderElectionID")
	}
	if options.LeaderElectionConfig != nil {
		config = options.LeaderElectionConfig
	}
	config = rest.AddUserAgent(config, "leader-election")
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating the leader election's client: %w", err)
	}
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating the leader election's client: %w", err)
	}
	e.lock, err = resourcelock.NewWithLabels(cmp.Or(options.LeaderElectionResourceLock, resourcelock.LeasesResourceLock),
		options.LeaderElectionNamespace, options.LeaderElectionID, core, leases,
		resourcelock.ResourceLockConfig{Identity: w.identity, EventRecorder: w.recorder.For(w.identity)}, options.LeaderElectionLabels)
	if err != nil {
		return nil, fmt.Errorf("creating the leader election's lock: %w", err)
	}
	return e, nil
}

// join counts the candidate as in flight. The seed decides the order of candidates that join
// at the same instant.
func (e *election) join() {
	e.ticket = e.line.Join(e.lock.Identity(), struct{}{})
}

// hold tries to acquire the lease until it succeeds, calls lead, and renews the lease until
// ctx ends or the lease is lost. If it was lost, hold returns work that counts until the
// caller has stopped the controllers:
//
//	hold: lease lost, Begin(stopping), End(ticket)   run: cancel, runnables end, End(stopping)
//
// Without it, nothing would be in flight between the two, and the controllers would go on in
// virtual time for as long as the machine takes to stop them. stopping takes no turn, so that
// reconciles can end.
func (e *election) hold(ctx context.Context, lead func()) (stopping *inflight.Work) {
	defer e.ticket.End()
	if _, granted := e.line.Next(ctx); !granted {
		return nil
	}
	ctx = inflight.With(ctx, e.ticket.Work())
	for !e.try(ctx) {
		jitter := time.Duration(e.random.Float64() * leaderelection.JitterFactor * float64(e.retry))
		if inflight.Sleep(ctx, e.clock, e.retry+jitter) != nil {
			return nil
		}
	}
	e.lock.RecordEvent("became leader")
	lead()
	close(e.elected)
	renewed := e.clock.Now()
	for inflight.Sleep(ctx, e.clock, e.retry) == nil {
		switch {
		case e.try(ctx):
			renewed = e.clock.Now()
		case ctx.Err() == nil && e.clock.Since(renewed) >= e.renew:
			e.lock.RecordEvent("stopped leading")
			return inflight.Begin(e.ledger, inflight.Key)
		}
	}
	return nil
}

// try acquires or renews the lease and reports whether it succeeded.
func (e *election) try(ctx context.Context) bool {
	now := metav1.NewTime(e.clock.Now())
	record := resourcelock.LeaderElectionRecord{
		HolderIdentity: e.lock.Identity(), LeaseDurationSeconds: int(e.lease / time.Second), RenewTime: now, AcquireTime: now,
	}
	old, raw, err := e.lock.Get(ctx)
	if apierrors.IsNotFound(err) {
		return e.write(record, e.lock.Create(ctx, record))
	}
	if err != nil {
		return false
	}
	if !bytes.Equal(e.raw, raw) {
		e.seen, e.raw, e.seenAt = *old, raw, now.Time
	}
	mine := old.HolderIdentity == e.lock.Identity()
	valid := e.seenAt.Add(time.Duration(e.seen.LeaseDurationSeconds) * time.Second).After(now.Time)
	if old.HolderIdentity != "" && !mine && valid {
		return false
	}
	record.LeaderTransitions = old.LeaderTransitions
	if mine {
		record.AcquireTime = old.AcquireTime
	} else {
		record.LeaderTransitions++
	}
	return e.write(record, e.lock.Update(ctx, record))
}

func (e *election) write(record resourcelock.LeaderElectionRecord, err error) bool {
	if err == nil {
		e.seen, e.seenAt = record, record.RenewTime.Time
	}
	return err == nil
}

// release releases the lease of a leader if LeaderElectionReleaseOnCancel is set. It is
// called after all work has ended. On an error, the lease expires instead.
func (e *election) release() {
	select {
	case <-e.elected:
	default:
		return
	}
	if !e.releases {
		return
	}
	ctx := inflight.Hurried(context.Background())
	old, _, err := e.lock.Get(ctx)
	if err != nil || old.HolderIdentity != e.lock.Identity() {
		return
	}
	now := metav1.NewTime(e.clock.Now())
	_ = e.lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaderTransitions: old.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
	})
}
