package minikcmtest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

// Clusters of parallel tests share nothing.
func TestManyClustersInParallel(t *testing.T) {
	t.Parallel()
	const clusters = 12
	for i := range clusters {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			opts := []minikcmtest.Option{minikcmtest.WithNodes(1 + i%3)}
			if i%2 == 0 {
				opts = append(opts, minikcmtest.WithVirtualTime())
			}
			if i%3 == 0 {
				opts = append(opts, minikcmtest.WithHTTPS())
			}
			c := minikcmtest.New(t, opts...)
			own := fmt.Sprintf("web-%d", i)
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: own},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			}
			if _, err := c.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			c.Eventually("the pod to run", func(ctx context.Context, client kubernetes.Interface) error {
				pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
				switch {
				case err != nil:
					return err
				case len(pods.Items) != 1 || pods.Items[0].Name != own:
					t.Errorf("there are other pods than %s: %v", own, pods.Items)
				case pods.Items[0].Status.Phase != corev1.PodRunning:
					return fmt.Errorf("it is %s", pods.Items[0].Status.Phase)
				}
				return nil
			})
			nodes, err := c.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
			if err != nil || len(nodes.Items) != 1+i%3 {
				t.Errorf("there are %d nodes, want %d: %v", len(nodes.Items), 1+i%3, err)
			}
		})
	}
}

func TestNoNodes(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithControllers("*", "-serviceaccount-controller"))
	if nodes, err := c.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil || len(nodes.Items) != 0 {
		t.Errorf("there are nodes: %v, %v", nodes, err)
	}
	if c.Kubeconfig() != nil || c.Address() != "" {
		t.Errorf("there is a kubeconfig, or an address: %q", c.Address())
	}
	if _, err := c.HTTPSConfig(); err == nil || !strings.Contains(err.Error(), "without HTTPS") {
		t.Errorf("the configuration of a socket that is not there: %v", err)
	}
}

func TestOptionsReachTheCluster(t *testing.T) {
	t.Parallel()
	start := time.Date(2030, time.May, 1, 8, 0, 0, 0, time.UTC)
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Clock.Start, o.Seed = start, 42
	}))
	if got := c.Clock().Now(); !got.Equal(start) {
		t.Errorf("it is %v, want %v", got, start)
	}
	if c.Seed() != 42 {
		t.Errorf("the seed is %d, want 42", c.Seed())
	}
	namespace, err := c.Client().CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
	if err != nil || !namespace.CreationTimestamp.Time.Equal(start) {
		t.Errorf("objects are not stamped with the cluster's time: %v, %v", namespace.CreationTimestamp, err)
	}
}

// Advance moves time by exactly its argument, and never back.
func TestAdvance(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	start := c.Clock().Now()
	for _, d := range []time.Duration{0, time.Nanosecond, time.Hour} {
		before := c.Clock().Now()
		if err := c.Advance(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if passed := c.Clock().Since(before); passed != d {
			t.Errorf("%v went by, want %v", passed, d)
		}
	}
	if err := c.Advance(t.Context(), -time.Second); err == nil {
		t.Error("time goes back")
	}
	if passed := c.Clock().Since(start); passed != time.Hour+time.Nanosecond {
		t.Errorf("%v went by in all", passed)
	}
}

// BenchmarkDay measures a day of an idle cluster with one node, in virtual time.
func BenchmarkDay(b *testing.B) {
	c := minikcmtest.New(b, minikcmtest.WithVirtualTime())
	for b.Loop() {
		if err := c.Advance(b.Context(), 24*time.Hour); err != nil {
			b.Fatal(err)
		}
	}
}

// Advance returns when its context ends.
func TestAdvanceIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]minikcmtest.Option{nil, {minikcmtest.WithVirtualTime()}} {
		c := minikcmtest.New(t, opts...)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Advance(ctx, time.Hour); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
			t.Errorf("Advance returned %v", err)
		}
		if err := c.Wait(ctx, make(chan struct{})); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
			t.Errorf("Wait returned %v", err)
		}
	}
}

// A client with few permissions is forbidden everything else.
func TestConfigFor(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t)
	client, err := kubernetes.NewForConfig(c.ConfigFor("jane"))
	if err != nil {
		t.Fatal(err)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "hers"}}
	_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{})
	if err != nil && !apierrors.IsForbidden(err) {
		t.Fatal(err)
	}
	var actors []string
	for _, w := range c.Writes().Writes(nil) {
		if w.Resource.Resource == "configmaps" && w.Name == "hers" {
			actors = append(actors, w.Actor)
		}
	}
	if err == nil && (len(actors) != 1 || actors[0] != "jane") {
		t.Errorf("the record says that %v wrote what jane has written", actors)
	}
}

// fatal is a testing.TB that records its failure.
type fatal struct {
	testing.TB
	message string
}

func (f *fatal) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// try runs a test function that may call Fatal, and returns its failure.
func try(t *testing.T, test func(t testing.TB)) string {
	t.Helper()
	f := &fatal{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(f)
	}()
	<-done
	return f.message
}

// A wait that cannot end fails with what is missing, and soon in virtual time.
func TestFailuresAreExplained(t *testing.T) {
	t.Parallel()
	got := try(t, func(tb testing.TB) {
		c := minikcmtest.New(tb, minikcmtest.WithVirtualTime())
		c.Eventually("pigs to fly", func(context.Context, kubernetes.Interface) error { return errors.New("they walk") })
	})
	if want := "waiting for pigs to fly: not within 1h0m0s of virtual time: they walk"; !strings.HasPrefix(got, want) {
		t.Errorf("a wait in vain fails with %q, want %q", got, want)
	}
	got = try(t, func(tb testing.TB) {
		minikcmtest.New(tb, minikcmtest.WithControllers("gardener"))
	})
	if want := `starting a cluster: "gardener" is not a controller`; !strings.HasPrefix(got, want) {
		t.Errorf("a cluster that cannot start fails with %q, want %q", got, want)
	}
}

// The functions of the package's examples work.
func TestExample(t *testing.T) {
	t.Parallel()
	t.Run("operator", testOperator)
	t.Run("node loss", testNodeLoss)
	t.Run("faults of the API server", testAPIFaults)
	t.Run("failed calls", testFailedCalls)
	t.Run("faults of the store", testStoreFaults)
	t.Run("faults of controllers", testControllerFaults)
}
