package ctrltest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/minikcmtest/ctrltest"
)

// course records what happened when, in virtual time.
type course struct {
	clock clock.Clock
	begin time.Time
	mu    sync.Mutex
	lines []string
}

func newCourse(c *minikcmtest.Cluster) *course {
	return &course{clock: c.Clock(), begin: c.Clock().Now()}
}

func (c *course) notef(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, fmt.Sprintf("%v ", c.clock.Since(c.begin))+fmt.Sprintf(format, args...))
}

func (c *course) expect(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.lines, want) {
		t.Errorf("course:\n%q\nwant:\n%q", c.lines, want)
	}
}

// startWaiting starts a controller with that number of workers for the ConfigMaps a, b and c.
func startWaiting(t *testing.T, c *minikcmtest.Cluster, workers int, f func(ctx context.Context, k client.Client, name string) error) {
	t.Helper()
	mgr := ctrltest.NewManager(t, c, ctrl.Options{})
	err := ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
			if len(req.Name) > 1 {
				return ctrl.Result{}, nil
			}
			return ctrl.Result{}, f(ctx, mgr.GetClient(), req.Name)
		}))
	if err != nil {
		t.Fatal(err)
	}
	ctrltest.Start(t, mgr)
}

func createMaps(t *testing.T, c *minikcmtest.Cluster, names ...string) {
	t.Helper()
	k, err := client.New(c.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := k.Create(t.Context(), configMap(name)); err != nil {
			t.Fatal(err)
		}
		advance(t, c, 0)
	}
}

// A reconcile may sleep. Meanwhile other reconciles run if the controller has free workers, so
// the total time is the same as in a real cluster.
func TestReconcileSleeps(t *testing.T) {
	t.Parallel()
	for workers, want := range map[int][]string{
		1: {"0s a begins", "1m0s a ends", "1m0s b begins", "2m0s b ends", "2m0s c begins", "3m0s c ends"},
		2: {"0s a begins", "0s b begins", "1m0s a ends", "1m0s b ends", "1m0s c begins", "2m0s c ends"},
	} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			t.Parallel()
			c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0))
			seen := newCourse(c)
			startWaiting(t, c, workers, func(ctx context.Context, _ client.Client, name string) error {
				seen.notef("%s begins", name)
				defer seen.notef("%s ends", name)
				return clock.Sleep(ctx, c.Clock(), time.Minute)
			})
			createMaps(t, c, "a", "b", "c")
			advance(t, c, time.Hour)
			seen.expect(t, want...)
		})
	}
}

// Reconciles wait for a slow API server and for its Retry-After responses. Concurrent requests
// of one reconcile are serialized.
func TestSlowAPI(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0), minikcmtest.WithOptions(func(o *minikcm.Options) { o.Faults.API = true }))
	seen := newCourse(c)
	startWaiting(t, c, 1, func(ctx context.Context, k client.Client, name string) error {
		seen.notef("%s begins", name)
		var work sync.WaitGroup
		for i := range 2 {
			work.Go(func() {
				if err := k.Create(ctx, configMap(fmt.Sprintf("made-for-%s-%d", name, i))); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		seen.notef("%s ends", name)
		return nil
	})
	remove := c.APIFaults().Inject(minikcm.APIFault{
		Match:   minikcm.APIFaultMatch{Users: []string{ctrltest.DefaultUser}, Verbs: []string{"create"}},
		Latency: 20 * time.Second,
	})
	createMaps(t, c, "a", "b")
	advance(t, c, 2*time.Minute)
	remove()
	c.APIFaults().Inject(minikcm.APIFault{
		Match: minikcm.APIFaultMatch{Users: []string{ctrltest.DefaultUser}, Verbs: []string{"create"}},
		Code:  429, RetryAfter: 5, Share: 0.5,
	})
	seen.expect(t, "0s a begins", "40s a ends", "40s b begins", "1m20s b ends")
	createMaps(t, c, "c")
	advance(t, c, time.Hour)
	if len(seen.lines) != 6 {
		t.Errorf("with an API server that is asked again: %q", seen.lines)
	}
}

// The first read of a kind during a reconcile starts its informer.
func TestInformerOnDemand(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0))
	seen := newCourse(c)
	startWaiting(t, c, 1, func(ctx context.Context, k client.Client, name string) error {
		accounts := &corev1.ServiceAccountList{}
		if err := k.List(ctx, accounts, client.InNamespace("default")); err != nil {
			return err
		}
		seen.notef("%s sees %d", name, len(accounts.Items))
		return nil
	})
	createMaps(t, c, "a")
	advance(t, c, time.Hour)
	seen.expect(t, "0s a sees 1")
}
