package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	config "k8s.io/component-base/config"
	cmconfig "k8s.io/controller-manager/config"

	"minikcm.dev/minikcm/internal/controllerprocess/election"
	"minikcm.dev/minikcm/minikcmtest"
)

func electionOptions(c kubernetes.Interface, identity string) election.Options {
	return election.Options{
		Client: c, Identity: identity,
		Config: config.LeaderElectionConfiguration{
			ResourceLock: "leases", ResourceNamespace: "kube-system", ResourceName: "main",
			// The lease outlives the test: another process can lead only after a release.
			LeaseDuration: metav1.Duration{Duration: time.Hour}, RenewDeadline: metav1.Duration{Duration: 50 * time.Minute}, RetryPeriod: metav1.Duration{Duration: 20 * time.Millisecond},
		},
	}
}

// candidate is one process in an election.
type candidate struct {
	working chan struct{}
	stop    context.CancelFunc
	ended   chan error
}

func candidacy(t *testing.T, run func(ctx context.Context, work func(context.Context) error) error) *candidate {
	ctx, cancel := context.WithCancel(t.Context())
	c := &candidate{working: make(chan struct{}), stop: cancel, ended: make(chan error, 1)}
	go func() {
		c.ended <- run(ctx, func(ctx context.Context) error {
			close(c.working)
			<-ctx.Done()
			return nil
		})
	}()
	return c
}

func TestOneWorksAtATime(t *testing.T) {
	cluster := minikcmtest.New(t)
	client := cluster.Client()
	events := record.NewFakeRecorder(10)
	// The second one's first look at the lease is over when it knows the leader.
	known := make(chan string, 10)
	lead := func(name string) *candidate {
		return candidacy(t, func(ctx context.Context, work func(context.Context) error) error {
			opts := electionOptions(client, name)
			opts.Recorder = events
			opts.NewLeader = func(_, leader string) { known <- name + " sees " + leader }
			return election.Lead(ctx, opts, work)
		})
	}
	first := lead("first")
	<-first.working
	if got, want := <-events.Events, "Normal LeaderElection first became leader"; got != want {
		t.Errorf("event %q, want %q", got, want)
	}
	second := lead("second")
	if got := <-known; got != "second sees first" {
		t.Error(got)
	}
	select {
	case <-second.working:
		t.Error("both work")
	default:
	}
	first.stop()
	if err := <-first.ended; err != nil {
		t.Errorf("the first one's Lead() = %v", err)
	}
	// The lease does not expire for an hour, so the first process has released it.
	<-second.working
	lease, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), "main", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != "second" {
		t.Errorf("lease %+v, %v", lease.Spec, err)
	}
	second.stop()
	if err := <-second.ended; err != nil {
		t.Errorf("the second one's Lead() = %v", err)
	}
}

func TestAFailureOfTheWorkIsTheResult(t *testing.T) {
	cluster := minikcmtest.New(t)
	broken := errors.New("disk full")
	err := election.Lead(t.Context(), electionOptions(cluster.Client(), "one"), func(context.Context) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("Lead() = %v", err)
	}
}

func TestALostLeaseEndsTheWork(t *testing.T) {
	cluster := minikcmtest.New(t)
	leases := cluster.Client().CoordinationV1().Leases("kube-system")
	opts := electionOptions(cluster.Client(), "one")
	// From the theft on, the election tries for so long.
	opts.Config.RenewDeadline.Duration = time.Second
	c := candidacy(t, func(ctx context.Context, work func(context.Context) error) error {
		return election.Lead(ctx, opts, work)
	})
	<-c.working
	if before, err := leases.Get(t.Context(), "main", metav1.GetOptions{}); err != nil || *before.Spec.HolderIdentity != "one" {
		t.Fatalf("the lease before the theft: %+v, %v", before.Spec, err)
	}
	thief := `{"spec":{"holderIdentity":"thief","leaseDurationSeconds":3600}}`
	if _, err := leases.Patch(t.Context(), "main", "application/merge-patch+json", []byte(thief), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := <-c.ended; !errors.Is(err, election.ErrLost) {
		t.Errorf("Lead() = %v, want ErrLost", err)
	}
}

// TestMigration moves the node controllers from one manager to another: while both run,
// each lease has one leader, and the leader of the second lease also leads the first.
func TestMigration(t *testing.T) {
	cluster := minikcmtest.New(t)
	client := cluster.Client()
	migration := &cmconfig.LeaderMigrationConfiguration{
		LeaderName: "moving", ResourceLock: "leases",
		ControllerLeaders: []cmconfig.ControllerLeaderConfiguration{{Name: "moves", Component: election.Component}, {Name: "left", Component: "other-manager"}},
	}
	var mu sync.Mutex
	var began []string
	both := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- election.Migrate(ctx, electionOptions(client, "one"), migration, func(ctx context.Context, share election.Share) error {
			var names []string
			for _, name := range []string{"stays", "moves", "left"} {
				if share.Runs(name) {
					names = append(names, name)
				}
			}
			mu.Lock()
			began = append(began, fmt.Sprint(names))
			if len(began) == 2 {
				close(both)
			}
			mu.Unlock()
			if share.Ready != nil {
				share.Ready()
			}
			<-ctx.Done()
			return nil
		})
	}()
	<-both
	if got := strings.Join(began, " then "); got != "[stays] then [moves]" {
		t.Errorf("began %s", got)
	}
	for _, name := range []string{"main", "moving"} {
		lease, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || *lease.Spec.HolderIdentity != "one" {
			t.Errorf("lease %s: %+v, %v", name, lease.Spec, err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Migrate() = %v", err)
	}
}
