package minikcmtest_test

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/minikcmtest"
)

// In virtual time, all steps of a rollout happen at the same instant.
func TestDeploymentInVirtualTime(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	start := c.Clock().Now()
	labels := map[string]string{"app": "web"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](3),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}
	if _, err := c.Client().AppsV1().Deployments("default").Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	got, err := c.Client().AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status.AvailableReplicas != 3 {
		t.Errorf("a minute later %d replicas are available, want 3: %+v", got.Status.AvailableReplicas, got.Status)
	}
	if passed := c.Clock().Since(start); passed != time.Minute {
		t.Errorf("%v went by, want a minute", passed)
	}
}

// Nodes stay Ready during hours of heartbeats in virtual time.
func TestHoursInVirtualTime(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(3))
	if err := c.Advance(t.Context(), 3*time.Hour); err != nil {
		t.Fatal(err)
	}
	nodes, err := c.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 3 {
		t.Errorf("there are %d nodes, want 3", len(nodes.Items))
	}
	for _, n := range nodes.Items {
		for _, cond := range n.Status.Conditions {
			if cond.Type == corev1.NodeReady && cond.Status != corev1.ConditionTrue {
				t.Errorf("node %s is not Ready: %+v", n.Name, cond)
			}
		}
		if len(n.Spec.Taints) > 0 {
			t.Errorf("node %s has taints: %v", n.Name, n.Spec.Taints)
		}
	}
}

// When nothing is in flight, every handler has handled every write: each step counts as in
// flight, from the store through the watch cache and the stream to the informer.
func TestNothingInFlightMeansSeen(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	factory, err := informers.NewForConfig(c.Config(), c.Ledger())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer factory.Shutdown()
	defer cancel()
	var seen atomic.Int64
	shared := factory.Core().V1().ConfigMaps()
	if _, err := shared.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, obj any) {
			for range 100 {
				runtime.Gosched()
			}
			n, err := strconv.ParseInt(obj.(*corev1.ConfigMap).Data["n"], 10, 64)
			if err != nil {
				t.Error(err)
			}
			seen.Store(n)
		},
	}); err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(ctx)
	maps := c.Client().CoreV1().ConfigMaps("default")
	cm, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "counter"}, Data: map[string]string{"n": "0"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The informer must know the object before the first update, which otherwise would be
	// delivered as an addition.
	if err := c.Ledger().WaitIdle(ctx); err != nil {
		t.Fatal(err)
	}
	for n := range int64(500) {
		cm.Data["n"] = strconv.FormatInt(n, 10)
		if cm, err = maps.Update(ctx, cm, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if n%3 == 0 { // several updates at once
			continue
		}
		if err := c.Ledger().WaitIdle(ctx); err != nil {
			t.Fatal(err)
		}
		if got := seen.Load(); got != n {
			t.Fatalf("nothing is in flight, and the handler has seen %d, want %d", got, n)
		}
	}
}
