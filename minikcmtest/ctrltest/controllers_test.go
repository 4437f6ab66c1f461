package ctrltest_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/minikcmtest/ctrltest"
)

func newStill(t *testing.T) *minikcmtest.Cluster {
	t.Helper()
	return minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0))
}

// account is a custom request type: a namespace.
type account struct{ namespace string }

func setUpAccounts(mgr manager.Manager, f reconcile.TypedFunc[account]) error {
	toAccount := handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []account {
		return []account{{obj.GetNamespace()}}
	})
	return builder.TypedControllerManagedBy[account](mgr).Named("accounts").Watches(&corev1.ConfigMap{}, toAccount).Complete(f)
}

// Controllers of other request types need the option Requests.
func TestRequests(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	seen := newRuns(c)
	f := func(_ context.Context, a account) (ctrl.Result, error) {
		if a.namespace == "default" {
			seen.note()
		}
		return ctrl.Result{RequeueAfter: time.Hour}, nil
	}
	unprepared := ctrltest.NewManager(t, c, ctrl.Options{})
	if err := setUpAccounts(unprepared, f); err == nil || !strings.Contains(err.Error(), "ctrltest.Requests[minikcm.dev/minikcm/minikcmtest/ctrltest_test.account]()") {
		t.Errorf("without the option: %v", err)
	}
	mgr := ctrltest.NewManager(t, c, ctrl.Options{}, ctrltest.Requests[account]())
	if err := setUpAccounts(mgr, f); err != nil {
		t.Fatal(err)
	}
	ctrltest.Start(t, mgr)
	advance(t, c, 90*time.Minute)
	seen.expect(t, 0, time.Hour)
}

// Adopt puts a controller that is not added to the manager on the cluster's clock.
func TestAdopt(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	mgr := ctrltest.NewManager(t, c, ctrl.Options{})
	seen, began := newRuns(c), make(chan struct{})
	unmanaged, err := controller.NewUnmanaged("adopted", controller.Options{
		SkipNameValidation: ptr.To(true),
		Reconciler: reconcile.Func(func(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
			if req.Namespace != "default" {
				return ctrl.Result{}, nil
			}
			if seen.note(); len(seen.at) == 1 {
				close(began)
			}
			return ctrl.Result{RequeueAfter: time.Hour}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := unmanaged.Watch(source.Kind(mgr.GetCache(), &corev1.ServiceAccount{}, &handler.TypedEnqueueRequestForObject[*corev1.ServiceAccount]{})); err != nil {
		t.Fatal(err)
	}
	if err := ctrltest.Adopt(mgr, unmanaged); err != nil {
		t.Fatal(err)
	}
	if err := ctrltest.Adopt(mgr, "no controller"); err == nil {
		t.Error("a string is adopted")
	}
	if err := mgr.Add(manager.RunnableFunc(unmanaged.Start)); err != nil {
		t.Fatal(err)
	}
	ctrltest.Start(t, mgr)
	<-began // the manager does not know when the controller has begun
	advance(t, c, 90*time.Minute)
	seen.expect(t, 0, time.Hour)
}

// A custom queue of the operator is not replaced.
func TestOwnQueue(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	mgr := ctrltest.NewManager(t, c, ctrl.Options{})
	made := make(chan struct{}, 2)
	err := ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).WithOptions(controller.Options{
		NewQueue: func(_ string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			made <- struct{}{}
			return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Clock: c.Clock()})
		},
	}).Complete(reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil }))
	if err != nil {
		t.Fatal(err)
	}
	ctrltest.Start(t, mgr)
	<-made
}

// Events of both APIs have the cluster's time. Equal events are aggregated: by a count in the
// old API, as a series in the new one.
func TestEvents(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	mgr := ctrltest.NewManager(t, c, ctrl.Options{})
	newConfigMaps(t, mgr, func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		cm := &corev1.ConfigMap{}
		if err := mgr.GetClient().Get(ctx, req.NamespacedName, cm); err != nil || req.Name != "web" {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		//lint:ignore SA1019 operators still use it
		mgr.GetEventRecorderFor("old").Event(cm, corev1.EventTypeNormal, "Seen", "a ConfigMap")
		mgr.GetEventRecorder("new").Eventf(cm, nil, corev1.EventTypeNormal, "Seen", "Reconcile", "a %s", "ConfigMap")
		return ctrl.Result{RequeueAfter: 2 * time.Minute}, nil
	})
	ctrltest.Start(t, mgr)
	begin := c.Clock().Now()
	createMaps(t, c, "web")
	k, err := client.New(c.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(want ...string) {
		t.Helper()
		list := &eventsv1.EventList{}
		if err := k.List(t.Context(), list, client.InNamespace("default")); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range list.Items {
			switch {
			case e.Regarding.Name != "web":
			case e.ReportingController == "old":
				got = append(got, strings.Join([]string{"old", e.Note, e.DeprecatedLastTimestamp.Sub(begin).String(), string('0' + rune(e.DeprecatedCount))}, " "))
			default:
				line := strings.Join([]string{"new", e.Note, e.Action, e.EventTime.Sub(begin).String()}, " ")
				if e.Series != nil {
					line += " until " + e.Series.LastObservedTime.Sub(begin).String() + " " + string('0'+rune(e.Series.Count))
				}
				got = append(got, line)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("events %q, want %q", got, want)
		}
	}
	advance(t, c, 0)
	expect("new a ConfigMap Reconcile 0s", "old a ConfigMap 0s 1")
	advance(t, c, 5*time.Minute)
	expect("new a ConfigMap Reconcile 0s until 2m0s 2", "old a ConfigMap 4m0s 3")
}

// The option As sets the user of a manager's requests.
func TestAs(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	mgr := ctrltest.NewManager(t, c, ctrl.Options{}, ctrltest.As("jane", "system:masters"))
	ctrltest.Start(t, mgr)
	if err := mgr.GetClient().Create(t.Context(), configMap("hers")); err != nil {
		t.Fatal(err)
	}
	for _, w := range c.Writes().Writes(nil) {
		if w.Name == "hers" && w.Actor != "jane" {
			t.Errorf("%s has made it", w.Actor)
		}
	}
}
