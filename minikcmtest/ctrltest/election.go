package ctrltest

import (
	"cmp"
	"fmt"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"minikcm.dev/minikcm/internal/election"
)

// newElection returns the leader election of a manager, on the cluster's clock.
func (w *world) newElection(config *rest.Config, options manager.Options) (*election.Elector, error) {
	lock, err := w.newLock(config, options)
	if err != nil {
		return nil, err
	}
	return election.New(election.Options{
		Lock: lock, Clock: w.clock, Ledger: w.ledger, Random: w.random.Fork(),
		Lease: ptr.Deref(options.LeaseDuration, election.DefaultLease), Renew: ptr.Deref(options.RenewDeadline, election.DefaultRenew),
		Retry: ptr.Deref(options.RetryPeriod, election.DefaultRetry),
	})
}

func (w *world) newLock(config *rest.Config, options manager.Options) (resourcelock.Interface, error) {
	if options.LeaderElectionResourceLockInterface != nil {
		return options.LeaderElectionResourceLockInterface, nil
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
	lock, err := resourcelock.NewWithLabels(cmp.Or(options.LeaderElectionResourceLock, resourcelock.LeasesResourceLock),
		options.LeaderElectionNamespace, options.LeaderElectionID, core, leases,
		resourcelock.ResourceLockConfig{Identity: w.identity, EventRecorder: w.recorder.For(w.identity)}, options.LeaderElectionLabels)
	if err != nil {
		return nil, fmt.Errorf("creating the leader election's lock: %w", err)
	}
	return lock, nil
}
