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

// ErrLost ends a process that has lost its lease: its pending work must not continue beside
// the work of the new leader.
var ErrLost = errors.New("the leader's lease was lost to another process")

// Options configure a candidate.
type Options struct {
	// Client accesses the leases. Its requests must not queue behind the requests of the work.
	Client kubernetes.Interface
	// Identity distinguishes this process from the other candidates.
	Identity string
	// Config holds the lease's name, namespace and durations.
	Config config.LeaderElectionConfiguration
	// Recorder, if not nil, records changes of the leader as events of the lease.
	Recorder record.EventRecorder
	// Watchdog, if not nil, becomes unhealthy when a leader can neither renew its lease nor
	// stop.
	Watchdog *leaderelection.HealthzAdaptor
	// NewLeader, if not nil, is called when another process becomes the leader of the lease
	// of that name.
	NewLeader func(lease, identity string)
}

// Lead waits for the lease and runs work while this process holds it. It returns the error
// of work; nil when ctx has ended; ErrLost when the lease was lost, after work has
// returned.
func Lead(ctx context.Context, opts Options, work func(ctx context.Context) error) error {
	c := opts.Config
	lock, err := resourcelock.New(c.ResourceLock, c.ResourceNamespace, c.ResourceName, opts.Client.CoreV1(), opts.Client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: opts.Identity, EventRecorder: eventRecorder(opts.Recorder)})
	if err != nil {
		return fmt.Errorf("making the leader's lease: %w", err)
	}
	// The election continues until work has returned: the lease must not be released
	// earlier.
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

// eventRecorder converts a nil recorder to a nil interface.
func eventRecorder(r record.EventRecorder) resourcelock.EventRecorder {
	if r == nil {
		return nil
	}
	return r
}
