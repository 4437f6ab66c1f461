package ctrltest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	utilclock "k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/minikcmtest/ctrltest"
)

// readySites is an operator that sets a condition of Sites, with the time of Clock if it has one.
type readySites struct {
	client.Client
	Clock utilclock.PassiveClock
}

func (r *readySites) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := &Site{}
	if err := r.Get(ctx, req.NamespacedName, s); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Deployed"}
	if r.Clock != nil {
		ready.LastTransitionTime = metav1.NewTime(r.Clock.Now())
	}
	if !meta.SetStatusCondition(&s.Status.Conditions, ready) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.Status().Update(ctx, s)
}

// startingAt sets the time at which a virtual clock begins.
func startingAt(at time.Time) minikcmtest.Option {
	return minikcmtest.WithOptions(func(o *minikcm.Options) { o.Clock.Start = at })
}

// noted is a test that notes what is reported.
type noted struct {
	testing.TB
	mu           sync.Mutex
	logs, errors []string
}

func (n *noted) Logf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.logs = append(n.logs, fmt.Sprintf(format, args...))
}

func (n *noted) Errorf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.errors = append(n.errors, fmt.Sprintf(format, args...))
}

// TestMachineTimeInConditions checks that a manager reports conditions that have the machine's time on virtual time: the
// field, and the call that wrote it.
func TestMachineTimeInConditions(t *testing.T) {
	t.Parallel()
	future := clock.Real().Now().AddDate(3, 0, 0)
	for name, test := range map[string]struct {
		cluster  []minikcmtest.Option
		fail     bool
		clocked  bool
		reported int
	}{
		"of the machine":         {fail: true, reported: 1},
		"of the machine, logged": {reported: 1},
		"of the cluster":         {fail: true, clocked: true},
		"in the cluster's past":  {cluster: []minikcmtest.Option{startingAt(future)}, fail: true, reported: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minikcmtest.New(t, append(test.cluster, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0))...)
			k := defineSites(t, c)
			n := &noted{TB: t}
			var opts []ctrltest.Option
			if test.fail {
				opts = append(opts, ctrltest.FailOnMachineTime())
			}
			mgr := ctrltest.NewManager(n, c, ctrl.Options{Scheme: newScheme(t)}, opts...)
			r := &readySites{Client: mgr.GetClient()}
			if test.clocked {
				r.Clock = c.Clock()
			}
			if err := ctrl.NewControllerManagedBy(mgr).For(&Site{}).Complete(r); err != nil {
				t.Fatal(err)
			}
			ctrltest.Start(t, mgr)
			if err := k.Create(t.Context(), site("home", 1)); err != nil {
				t.Fatal(err)
			}
			c.Eventually("the condition", func(ctx context.Context, _ kubernetes.Interface) error {
				s := &Site{}
				if err := k.Get(ctx, client.ObjectKey{Namespace: "default", Name: "home"}, s); err != nil || len(s.Status.Conditions) == 0 {
					return fmt.Errorf("%v, %v", s.Status, err)
				}
				return nil
			})
			reports, others := n.errors, n.logs
			if !test.fail {
				reports, others = others, reports
			}
			if len(reports) != test.reported || len(others) > 0 {
				t.Fatalf("reported %q and %q", reports, others)
			}
			for _, report := range reports {
				for _, want := range []string{"status.conditions[type=Ready].lastTransitionTime of Site default/home is ", "which is not the cluster's time", "(*readySites).Reconcile (machinetime_test.go:"} {
					if !strings.Contains(report, want) {
						t.Errorf("the report has no %q:\n%s", want, report)
					}
				}
			}
		})
	}
}
