package election

import (
	"bytes"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// The defaults of kube-controller-manager, kube-scheduler and controller-runtime.
const (
	DefaultLease = 15 * time.Second
	DefaultRenew = 10 * time.Second
	DefaultRetry = 2 * time.Second
)

// Options configure a candidate. All fields are required but Ledger.
type Options struct {
	Lock   resourcelock.Interface
	Clock  clock.Clock
	Ledger *clock.Ledger
	Random *clock.Random
	// Lease is the duration of the lease, Renew the renew deadline, and Retry the period of
	// attempts.
	Lease, Renew, Retry time.Duration
}

// Elector is one candidate.
type Elector struct {
	Options
	elected chan struct{} // closed when the candidate becomes the leader
	line    *inflight.Line[struct{}]
	ticket  *inflight.Ticket[struct{}]

	// The last observed lease, and when it was observed to change. Only Hold and the
	// functions that it calls use them.
	seen   resourcelock.LeaderElectionRecord
	raw    []byte
	seenAt time.Time
}

// New returns a candidate. It fails if the durations make no sense.
func New(opts Options) (*Elector, error) {
	if opts.Lease <= opts.Renew || opts.Renew <= time.Duration(leaderelection.JitterFactor*float64(opts.Retry)) || opts.Retry <= 0 {
		return nil, fmt.Errorf("the leader election's LeaseDuration (%v) must be longer than its RenewDeadline (%v), and that longer than %v times its RetryPeriod (%v)",
			opts.Lease, opts.Renew, leaderelection.JitterFactor, opts.Retry)
	}
	return &Elector{Options: opts, elected: make(chan struct{}), line: inflight.NewLine[struct{}](opts.Ledger, inflight.Key, "leader election")}, nil
}

// Elected returns a channel that is closed when the candidate becomes the leader.
func (e *Elector) Elected() <-chan struct{} { return e.elected }

// Join counts the candidate as in flight. The seed decides the order of candidates that join
// at the same instant.
func (e *Elector) Join() {
	e.ticket = e.line.Join(e.Lock.Identity(), struct{}{})
}

// Hold tries to acquire the lease until it succeeds, calls lead, and renews the lease until
// ctx ends or the lease is lost. Join precedes it. If the lease was lost, Hold returns work that
// counts until the caller has stopped the work that it led:
//
//	Hold: lease lost, Begin(stopping), End(ticket)   caller: cancel, what led ends, End(stopping)
//
// Without it, nothing would be in flight between the two, and that work would go on in virtual time
// for as long as the machine takes to stop it. stopping takes no turn, so that reconciles can end.
func (e *Elector) Hold(ctx context.Context, lead func()) (stopping *inflight.Work) {
	defer e.ticket.End()
	if _, granted := e.line.Next(ctx); !granted {
		return nil
	}
	ctx = inflight.With(ctx, e.ticket.Work())
	for !e.try(ctx) {
		jitter := time.Duration(e.Random.Float64() * leaderelection.JitterFactor * float64(e.Retry))
		if inflight.Sleep(ctx, e.Clock, e.Retry+jitter) != nil {
			return nil
		}
	}
	e.Lock.RecordEvent("became leader")
	lead()
	close(e.elected)
	renewed := e.Clock.Now()
	for inflight.Sleep(ctx, e.Clock, e.Retry) == nil {
		if e.renew(ctx, renewed) {
			renewed = e.Clock.Now()
			continue
		}
		if ctx.Err() == nil && e.Clock.Since(renewed) >= e.Renew {
			e.Lock.RecordEvent("stopped leading")
			return inflight.Begin(e.Ledger, inflight.Key)
		}
	}
	return nil
}

// renew makes one attempt to renew the lease, which ends at the renew deadline.
func (e *Elector) renew(ctx context.Context, renewed time.Time) bool {
	ctx, stop := clock.WithTimeout(ctx, e.Clock, max(e.Renew-e.Clock.Since(renewed), time.Nanosecond))
	defer stop()
	return e.try(ctx)
}

// request makes one request for the lease within its timeout.
func (e *Elector) request(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, stop := clock.WithTimeout(ctx, e.Clock, max(e.Renew/2, time.Second))
	defer stop()
	return do(ctx)
}

// try acquires or renews the lease and reports whether it succeeded.
func (e *Elector) try(ctx context.Context) bool {
	now := metav1.NewTime(e.Clock.Now())
	record := resourcelock.LeaderElectionRecord{
		HolderIdentity: e.Lock.Identity(), LeaseDurationSeconds: int(e.Lease / time.Second), RenewTime: now, AcquireTime: now,
	}
	if e.holds(now.Time) { // a renewal needs no read unless it fails
		record.LeaderTransitions, record.AcquireTime = e.seen.LeaderTransitions, e.seen.AcquireTime
		if e.write(record, e.request(ctx, func(ctx context.Context) error { return e.Lock.Update(ctx, record) })) {
			return true
		}
	}
	var old *resourcelock.LeaderElectionRecord
	var raw []byte
	err := e.request(ctx, func(ctx context.Context) (err error) {
		old, raw, err = e.Lock.Get(ctx)
		return err
	})
	if apierrors.IsNotFound(err) {
		return e.write(record, e.request(ctx, func(ctx context.Context) error { return e.Lock.Create(ctx, record) }))
	}
	if err != nil {
		return false
	}
	if !bytes.Equal(e.raw, raw) {
		e.seen, e.raw, e.seenAt = *old, raw, e.Clock.Now()
	}
	mine := old.HolderIdentity == e.Lock.Identity()
	if old.HolderIdentity != "" && !mine && e.valid(now.Time) {
		return false
	}
	record.LeaderTransitions = old.LeaderTransitions
	if mine {
		record.AcquireTime = old.AcquireTime
	} else {
		record.LeaderTransitions++
	}
	return e.write(record, e.request(ctx, func(ctx context.Context) error { return e.Lock.Update(ctx, record) }))
}

// valid reports whether the last observed lease has not expired.
func (e *Elector) valid(now time.Time) bool {
	return e.seenAt.Add(time.Duration(e.seen.LeaseDurationSeconds) * time.Second).After(now)
}

// holds reports whether the candidate is the leader as far as it has observed.
func (e *Elector) holds(now time.Time) bool {
	select {
	case <-e.elected:
		return e.seen.HolderIdentity == e.Lock.Identity() && e.valid(now)
	default:
		return false
	}
}

func (e *Elector) write(record resourcelock.LeaderElectionRecord, err error) bool {
	if err == nil {
		e.seen, e.seenAt = record, record.RenewTime.Time
	}
	return err == nil
}

// Release gives up the lease of a leader, after all work has ended. On an error, the lease expires
// instead.
func (e *Elector) Release() {
	select {
	case <-e.elected:
	default:
		return
	}
	ctx := inflight.Hurried(context.Background())
	old, _, err := e.Lock.Get(ctx)
	if err != nil || old.HolderIdentity != e.Lock.Identity() {
		return
	}
	now := metav1.NewTime(e.Clock.Now())
	_ = e.Lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaderTransitions: old.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
	})
}
