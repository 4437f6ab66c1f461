package ctrltest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/minikcmtest/ctrltest"
)

// candidates are managers with leader election. The leader records when it reconciles.
type candidates struct {
	*testing.T
	cluster *minikcmtest.Cluster
	begin   time.Time
	worked  []string
}

// add starts a manager that reconciles every ten seconds while it leads.
func (cs *candidates) add(name string, change func(*ctrl.Options)) (stop func() error) {
	cs.Helper()
	options := ctrl.Options{LeaderElection: true, LeaderElectionID: "operator"}
	if change != nil {
		change(&options)
	}
	mgr := ctrltest.NewManager(cs.T, cs.cluster, options)
	newConfigMaps(cs.T, mgr, func(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
		if req.Name != "web" {
			return ctrl.Result{}, nil
		}
		cs.worked = append(cs.worked, fmt.Sprintf("%s %v", name, cs.cluster.Clock().Since(cs.begin)))
		return ctrl.Result{RequeueAfter: 10 * time.Second}, nil
	})
	return ctrltest.Start(cs.T, mgr)
}

// expect advances time and compares which manager has worked when.
func (cs *candidates) expect(d time.Duration, want ...string) {
	cs.Helper()
	cs.worked = nil
	advance(cs.T, cs.cluster, d)
	if !slices.Equal(cs.worked, want) {
		cs.Errorf("worked: %q, want %q", cs.worked, want)
	}
}

func newCandidates(t *testing.T) *candidates {
	t.Helper()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0), minikcmtest.WithOptions(func(o *minikcm.Options) { o.Clock.Driven = true }))
	if _, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), configMap("web"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return &candidates{T: t, cluster: c, begin: c.Clock().Now()}
}

func stopped(t *testing.T, stop func() error) {
	t.Helper()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Only one manager works at a time. Its successor waits until the lease has expired or was
// released.
func TestLeaderElection(t *testing.T) {
	t.Parallel()
	cs := newCandidates(t)
	first := cs.add("first", func(o *ctrl.Options) { o.LeaderElectionReleaseOnCancel = true })
	cs.expect(0, "first 0s")
	second := cs.add("second", nil)
	cs.expect(25*time.Second, "first 10s", "first 20s")
	stopped(t, first)
	// The second manager retries within 2.2 times the retry period of two seconds.
	cs.worked = nil
	advance(t, cs.cluster, 5*time.Second)
	if len(cs.worked) != 1 {
		t.Fatalf("after the lease was given up, worked: %q", cs.worked)
	}
	cs.add("third", nil)
	advance(t, cs.cluster, time.Minute)
	stopped(t, second)
	cs.expect(9 * time.Second /* of a lease of 15 s, renewed less than 2 s ago */)
	cs.worked = nil
	advance(t, cs.cluster, 20*time.Second)
	if len(cs.worked) == 0 || !slices.ContainsFunc(cs.worked, func(s string) bool { return s[:5] == "third" }) {
		t.Errorf("after the lease has run out, worked: %q", cs.worked)
	}
	cs.cluster.EventuallyEvent("default", "Lease", fmt.Sprintf("Normal LeaderElection %s became leader", holder(t, cs.cluster)))
}

func holder(t *testing.T, c *minikcmtest.Cluster) string {
	t.Helper()
	lease, err := c.Client().CoordinationV1().Leases("default").Get(t.Context(), "operator", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		t.Fatalf("the lease: %+v, %v", lease, err)
	}
	return *lease.Spec.HolderIdentity
}

// A leader that lost its lease ends, because it must not work beside the new leader.
func TestLostLease(t *testing.T) {
	t.Parallel()
	cs := newCandidates(t)
	stop := cs.add("only", nil)
	cs.expect(0, "only 0s")
	thief := `{"spec":{"holderIdentity":"thief","leaseDurationSeconds":3600}}`
	_, err := cs.cluster.Client().CoordinationV1().Leases("default").Patch(t.Context(), "operator", types.MergePatchType, []byte(thief), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The renew deadline is over at 10 s, when the next reconcile is due. The election has its turn
	// first, and from then on nothing is reconciled.
	cs.expect(time.Minute)
	if err := stop(); err == nil || err.Error() != "leader election lost" {
		t.Errorf("the manager ended with: %v", err)
	}
}

// Runnables without leader election work on every manager. The same holds for runnables that
// are added later.
func TestRunnablesWithoutLeader(t *testing.T) {
	t.Parallel()
	cs := newCandidates(t)
	cs.add("first", nil)
	cs.expect(0, "first 0s")
	mgr := ctrltest.NewManager(t, cs.cluster, ctrl.Options{LeaderElection: true, LeaderElectionID: "operator"})
	began := make(chan string, 2)
	everywhere := new(bool)
	if err := mgr.Add(runnable{func() { began <- "everywhere" }, everywhere}); err != nil {
		t.Fatal(err)
	}
	if err := mgr.Add(manager.RunnableFunc(func(context.Context) error {
		began <- "leader"
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	ctrltest.Start(t, mgr)
	if got := <-began; got != "everywhere" {
		t.Errorf("%s began", got)
	}
	advance(t, cs.cluster, time.Minute)
	select {
	case got := <-began:
		t.Errorf("%s began without the lease", got)
	case <-mgr.Elected():
		t.Error("both lead")
	default:
	}
}

// runnable is a runnable with a configurable NeedLeaderElection.
type runnable struct {
	run   func()
	leads *bool
}

func (r runnable) Start(context.Context) error {
	r.run()
	return nil
}

func (r runnable) NeedLeaderElection() bool { return *r.leads }
