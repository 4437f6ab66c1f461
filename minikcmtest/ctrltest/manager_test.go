package ctrltest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/minikcmtest/ctrltest"
)

// runs records when the reconciles of one request began, relative to the start of the test.
// It needs no lock: in virtual time, reconciles of one request run one after the other, and
// none runs while the test reads.
type runs struct {
	clock clock.Clock
	begin time.Time
	at    []time.Duration
}

func newRuns(c *minikcmtest.Cluster) *runs { return &runs{clock: c.Clock(), begin: c.Clock().Now()} }

func (r *runs) note() { r.at = append(r.at, r.clock.Since(r.begin)) }

func (r *runs) expect(t *testing.T, want ...time.Duration) {
	t.Helper()
	if len(r.at) != len(want) {
		t.Fatalf("reconciles at %v, want %v", r.at, want)
	}
	for i := range want {
		if r.at[i] != want[i] {
			t.Errorf("reconciles at %v, want %v", r.at, want)
			return
		}
	}
}

func advance(t *testing.T, c *minikcmtest.Cluster, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Advance(ctx, d); err != nil {
		t.Fatal(err)
	}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// newConfigMaps sets up a controller of ConfigMaps as operators do.
func newConfigMaps(t *testing.T, mgr ctrl.Manager, f reconcile.Func) {
	t.Helper()
	if err := ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Complete(f); err != nil {
		t.Fatal(err)
	}
}

func TestRequeueAfter(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	mgr := ctrltest.NewManager(t, c, ctrl.Options{})
	seen := newRuns(c)
	newConfigMaps(t, mgr, func(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
		if req.Name != "web" {
			return ctrl.Result{}, nil
		}
		seen.note()
		return ctrl.Result{RequeueAfter: time.Hour}, nil
	})
	ctrltest.Start(t, mgr)
	if err := mgr.GetClient().Create(t.Context(), configMap("web")); err != nil {
		t.Fatal(err)
	}
	advance(t, c, 59*time.Minute)
	seen.expect(t, 0)
	advance(t, c, time.Minute)
	seen.expect(t, 0, time.Hour)
	for range 3 {
		advance(t, c, 61*time.Minute)
	}
	seen.expect(t, 0, time.Hour, 2*time.Hour, 3*time.Hour, 4*time.Hour)
}

// A failed request is retried with controller-runtime's back-off on the cluster's clock.
func TestBackOff(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	mgr := ctrltest.NewManager(t, c, ctrl.Options{})
	seen := newRuns(c)
	newConfigMaps(t, mgr, func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		cm := configMap("web")
		if req != (ctrl.Request{NamespacedName: client.ObjectKeyFromObject(cm)}) {
			return ctrl.Result{}, nil
		}
		seen.note()
		if len(seen.at) < 6 {
			return ctrl.Result{}, errors.New("not yet")
		}
		return ctrl.Result{}, mgr.GetClient().Get(ctx, req.NamespacedName, cm)
	})
	ctrltest.Start(t, mgr)
	if err := mgr.GetClient().Create(t.Context(), configMap("web")); err != nil {
		t.Fatal(err)
	}
	advance(t, c, time.Hour)
	ms := time.Millisecond
	seen.expect(t, 0, 5*ms, 15*ms, 35*ms, 75*ms, 155*ms)
}
