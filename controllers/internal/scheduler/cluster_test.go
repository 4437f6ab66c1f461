package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/scheduler/config"
	"minikcm.dev/minikcm/internal/events"
	"minikcm.dev/minikcm/internal/informerstest"
)

// testCluster is a scheduler on client-go's fake clientset, whose bindings set
// the pod's node as an apiserver does.
type testCluster struct {
	t         *testing.T
	client    *fake.Clientset
	clock     clock.Clock
	ledger    *clock.Ledger
	scheduler *Scheduler
	// config configures the scheduler; nil: the default.
	config *config.Config

	mu sync.Mutex
	// failures is how many bindings are refused before any is taken.
	failures int
}

func startCluster(t *testing.T, c clock.Clock, ledger *clock.Ledger, objects ...runtime.Object) *testCluster {
	t.Helper()
	return startConfigured(t, c, ledger, nil, objects...)
}

func startConfigured(t *testing.T, c clock.Clock, ledger *clock.Ledger, configured *config.Config, objects ...runtime.Object) *testCluster {
	t.Helper()
	tc := &testCluster{t: t, client: fake.NewClientset(objects...), clock: c, ledger: ledger, config: configured}
	tc.client.PrependReactor("create", "pods", tc.bind)
	watches := informerstest.Observe(&tc.client.Fake)
	factory := kubeinformers.NewSharedInformerFactory(tc.client, 0)
	recorder := events.NewRecorder(tc.client.CoreV1(), c, ledger, clock.NewRandom(1), "test")
	e := &env.Env{
		Clock: c, Ledger: ledger, Random: clock.NewRandom(1), Informers: informers.ByKind(factory),
		Logger: klog.Background(), Recorder: recorder,
	}
	s, err := newScheduler(e, tc.client, Options{Config: tc.config})
	if err != nil {
		t.Fatal(err)
	}
	tc.scheduler = s
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(t.Context().Done())
	if err := watches.Wait(t.Context(), "pods", "nodes"); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = recorder.Run(ctx) })
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		factory.Shutdown()
		if !ledger.Idle() {
			t.Errorf("after the end there is still in flight: %s", ledger)
		}
	})
	return tc
}

func (tc *testCluster) bind(action clienttesting.Action) (bool, runtime.Object, error) {
	if action.GetSubresource() != "binding" {
		return false, nil, nil
	}
	tc.mu.Lock()
	defer tc.mu.Unlock()
	if tc.failures > 0 {
		tc.failures--
		return true, nil, apierrors.NewInternalError(errors.New("not now"))
	}
	binding := action.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	obj, err := tc.client.Tracker().Get(pods, binding.Namespace, binding.Name)
	if err != nil {
		return true, nil, err
	}
	pod := obj.(*corev1.Pod).DeepCopy()
	if pod.Spec.NodeName != "" {
		return true, nil, fmt.Errorf("pod %s is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	}
	pod.Spec.NodeName = binding.Target.Name
	return true, binding, tc.client.Tracker().Update(pods, pod, pod.Namespace)
}

// eventually waits until ok says true.
func (tc *testCluster) eventually(what string, ok func(ctx context.Context) bool) {
	tc.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	w, err := tc.client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		tc.t.Fatal(err)
	}
	defer w.Stop()
	e, err := tc.client.CoreV1().Events("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		tc.t.Fatal(err)
	}
	defer e.Stop()
	for !ok(ctx) {
		select {
		case <-w.ResultChan():
		case <-e.ResultChan():
		case <-ctx.Done():
			tc.t.Fatalf("waiting for %s: %v", what, ctx.Err())
		}
	}
}

func (tc *testCluster) pod(ctx context.Context, name string) *corev1.Pod {
	pod, err := tc.client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return pod
}

func (tc *testCluster) bound(name, node string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		pod := tc.pod(ctx, name)
		return pod != nil && pod.Spec.NodeName == node
	}
}

// condition returns the pod's condition of that type; an empty one if it has none.
func (tc *testCluster) condition(ctx context.Context, name string, kind corev1.PodConditionType) corev1.PodCondition {
	if pod := tc.pod(ctx, name); pod != nil {
		for _, c := range pod.Status.Conditions {
			if c.Type == kind {
				return c
			}
		}
	}
	return corev1.PodCondition{}
}

// reported reports whether there is such an event about the pod.
func (tc *testCluster) reported(name, reason, message string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		list, err := tc.client.CoreV1().Events("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			tc.t.Fatal(err)
		}
		for _, e := range list.Items {
			if e.InvolvedObject.Name == name && e.Reason == reason && e.Message == message && e.Source.Component == Name {
				return true
			}
		}
		return false
	}
}

func (tc *testCluster) create(pod *corev1.Pod) {
	tc.t.Helper()
	if _, err := tc.client.CoreV1().Pods(pod.Namespace).Create(tc.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		tc.t.Fatal(err)
	}
}
