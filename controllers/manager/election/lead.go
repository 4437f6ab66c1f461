package election

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	config "k8s.io/component-base/config"
)

// ErrLost ends a process that leads no more: what it has under way may not go on
// beside the new leader's work.
var ErrLost = errors.New("the leader's lease was lost to another process")

// Options say who is a candidate for what.
type Options struct {
	// Client reaches the leases; its requests must not wait for the work's.
	Client kubernetes.Interface
	// Identity tells this process from the others.
	Identity string
	// Config has the lease's place and durations.
	Config config.LeaderElectionConfiguration
	// Recorder reports who leads as events of the lease; nil: nobody does.
	Recorder record.EventRecorder
	// Watchdog is told of the election, to find a leader that can neither renew its
	// lease nor end; nil: nobody is.
	Watchdog *leaderelection.HealthzAdaptor
	// NewLeader is told who leads the lease of that name, if it is somebody else;
	// nil: nobody is.
	NewLeader func(lease, identity string)
}

// Lead waits for the lease and runs work while it is held. It returns work's error;
// nil when ctx has ended; ErrLost when the lease was lost, after the work has ended.
func Lead(ctx context.Context, opts Options, work func(ctx context.Context) error) error {
	c := opts.Config
	lock, err := resourcelock.New(c.ResourceLock, c.ResourceNamespace, c.ResourceName, opts.Client.CoreV1(), opts.Client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: opts.Identity, EventRecorder: eventRecorder(opts.Recorder)})
	if err != nil {
		return fmt.Errorf("making the leader's lease: %w", err)
	}
	// The election goes on until the work has ended: only then another may lead.
	electing, endElection := context.WithCancel(context.WithoutCancel(ctx))
	defer endElection()
	var leading atomic.Bool
	defer context.AfterFunc(ctx, func() {
		if !leading.Load() {
			endElection()
		}
	})()
	finished := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: c.LeaseDuration.Duration, RenewDeadline: c.RenewDeadline.Duration, RetryPeriod: c.RetryPeriod.Duration,
		ReleaseOnCancel: true, Name: c.ResourceName, WatchDog: opts.Watchdog,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) {
				leading.Store(true)
				held, stop := context.WithCancel(held)
				defer stop()
				defer context.AfterFunc(ctx, stop)()
				finished <- work(held)
				endElection()
			},
			OnStoppedLeading: func() {},
			OnNewLeader: func(leader string) {
				if leader != opts.Identity && opts.NewLeader != nil {
					opts.NewLeader(c.ResourceName, leader)
				}
			},
		},
	})
	if err != nil {
		return fmt.Errorf("the settings of the leader election: %w", err)
	}
	elector.Run(electing)
	if !leading.Load() {
		return nil
	}
	if err := <-finished; err != nil || ctx.Err() != nil {
		return err
	}
	return ErrLost
}

// eventRecorder keeps a nil recorder nil.
func eventRecorder(r record.EventRecorder) resourcelock.EventRecorder {
	if r == nil {
		return nil
	}
	return r
}
