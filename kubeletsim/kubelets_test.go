package kubeletsim

import (
	"context"
	"fmt"
	goruntime "runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/events"
	"minikcm.dev/minikcm/internal/informerstest"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// cluster is a fake API with kubelets on a virtual clock.
type cluster struct {
	t       *testing.T
	ctx     context.Context
	client  *fake.Clientset
	clock   *clock.Virtual
	ledger  *clock.Ledger
	kubelet *Kubelets
}

func newCluster(t *testing.T, opts Options, objects ...runtime.Object) *cluster {
	t.Helper()
	return newClusterOn(t, clock.NewLedger(), opts, objects...)
}

// newClusterOn is newCluster with a ledger, whose work may take turns.
func newClusterOn(t *testing.T, ledger *clock.Ledger, opts Options, objects ...runtime.Object) *cluster {
	t.Helper()
	client := fake.NewClientset()
	for _, object := range objects {
		if err := client.Tracker().Add(object); err != nil {
			t.Fatal(err)
		}
	}
	return newClusterWith(t, client, ledger, opts)
}

// newClusterWith is newCluster with a client, whose reactions the test may have changed.
func newClusterWith(t *testing.T, client *fake.Clientset, ledger *clock.Ledger, opts Options) *cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	c := &cluster{t: t, ctx: ctx, client: client, ledger: ledger}
	watches := informerstest.Observe(&client.Fake)
	c.clock = clock.NewVirtual(podtest.Epoch, c.ledger)
	opts.Client, opts.Clock, opts.Ledger = c.client, c.clock, c.ledger
	opts.Recorder = events.NewRecorder(c.client.CoreV1(), c.clock, c.ledger, nil, Component)
	var err error
	if c.kubelet, err = New(opts); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	go func() { ended <- c.kubelet.Run(ctx) }()
	go func() { ended <- opts.Recorder.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		c.clock.Close()
		if !c.ledger.Idle() {
			t.Errorf("in flight after the end: %s", c.ledger)
		}
	})
	if err := watches.Wait(ctx, "pods", "nodes", "configmaps"); err != nil {
		t.Fatal(err)
	}
	return c
}

// until returns when the condition holds, which is looked at whenever a pod or a node
// has changed.
func (c *cluster) until(what string, condition func() bool) {
	c.t.Helper()
	w, err := c.client.CoreV1().Pods("").Watch(c.ctx, metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	defer w.Stop()
	n, err := c.client.CoreV1().Nodes().Watch(c.ctx, metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	defer n.Stop()
	for !condition() {
		select {
		case <-w.ResultChan():
		case <-n.ResultChan():
		case <-c.ctx.Done():
			c.t.Fatalf("waiting until %s: %v", what, c.ctx.Err())
		}
	}
}

// eventually is until for conditions that no watch reports.
func (c *cluster) eventually(what string, condition func() bool) {
	c.t.Helper()
	for !condition() {
		if c.ctx.Err() != nil {
			c.t.Fatalf("waiting until %s: %v", what, c.ctx.Err())
		}
		goruntime.Gosched()
	}
}

func (c *cluster) advance(d time.Duration) {
	c.t.Helper()
	if err := c.clock.Advance(c.ctx, d); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) pod(name string) *corev1.Pod {
	pod, err := c.client.CoreV1().Pods("default").Get(c.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return pod
}

func (c *cluster) node(name string) *corev1.Node {
	node, err := c.client.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return node
}

func (c *cluster) create(pod *corev1.Pod) {
	c.t.Helper()
	if _, err := c.client.CoreV1().Pods(pod.Namespace).Create(c.ctx, pod, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func isReady(pod *corev1.Pod) bool {
	return pod != nil && conditionOf(pod, corev1.PodReady).Status == corev1.ConditionTrue
}

func conditionOf(pod *corev1.Pod, t corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == t {
			return c
		}
	}
	return corev1.PodCondition{}
}

func TestNodesRegister(t *testing.T) {
	c := newCluster(t, Options{Nodes: 3})
	for i := range 3 {
		name := fmt.Sprintf("node-%d", i)
		var node *corev1.Node
		c.until(name+" is there", func() bool {
			var err error
			node, err = c.client.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{})
			return err == nil
		})
		if got := node.Spec.PodCIDR; got != fmt.Sprintf("10.244.%d.0/24", i) {
			t.Errorf("%s has range %s", name, got)
		}
		ready := node.Status.Conditions[len(node.Status.Conditions)-1]
		if ready.Type != corev1.NodeReady || ready.Status != corev1.ConditionTrue {
			t.Errorf("%s: %v", name, ready)
		}
	}
	c.advance(25 * time.Second)
	lease, err := c.client.CoordinationV1().Leases("kube-node-lease").Get(c.ctx, "node-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := lease.Spec.RenewTime.Sub(podtest.Epoch); got != 20*time.Second {
		t.Errorf("lease was renewed after %v, want 20s", got)
	}
	if err := c.kubelet.StopNode("node-1"); err != nil {
		t.Fatal(err)
	}
	c.advance(time.Minute)
	lease, _ = c.client.CoordinationV1().Leases("kube-node-lease").Get(c.ctx, "node-1", metav1.GetOptions{})
	if got := lease.Spec.RenewTime.Sub(podtest.Epoch); got != 20*time.Second {
		t.Errorf("lease of a stopped node was renewed after %v", got)
	}
}

// Heartbeats are spread at random: each node has its own time, or with Gather a time on the grid.
func TestHeartbeatsAreGathered(t *testing.T) {
	const nodes, grid = 20, 100 * time.Millisecond
	for _, gather := range []time.Duration{0, grid} {
		c := newCluster(t, Options{Nodes: nodes, Random: clock.NewRandom(7), Gather: gather})
		c.until("all nodes have leases", func() bool {
			leases, err := c.client.CoordinationV1().Leases("kube-node-lease").List(c.ctx, metav1.ListOptions{})
			return err == nil && len(leases.Items) == nodes
		})
		c.advance(11 * time.Second)
		times := map[time.Duration]bool{}
		for i := range nodes {
			lease, err := c.client.CoordinationV1().Leases("kube-node-lease").Get(c.ctx, fmt.Sprintf("node-%d", i), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			renewed := lease.Spec.RenewTime.Sub(podtest.Epoch)
			if times[renewed] = true; renewed < 9600*time.Millisecond-gather || renewed > 10*time.Second {
				t.Errorf("gathered by %v: %s was renewed after %v", gather, lease.Name, renewed)
			}
			if gather > 0 && renewed%gather != 0 {
				t.Errorf("%s was renewed after %v, which is not on the grid", lease.Name, renewed)
			}
		}
		if gather == 0 && len(times) != nodes || gather > 0 && len(times) > 6 {
			t.Errorf("gathered by %v: %d nodes were renewed at %d times", gather, nodes, len(times))
		}
	}
}

func TestPodLivesAndEnds(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.create(podtest.Pod("web", "node-0"))
	c.until("the pod is ready", func() bool { return isReady(c.pod("web")) })
	pod := c.pod("web")
	if pod.Status.PodIP == "" || pod.Status.HostIP != "172.18.0.2" || pod.Status.Phase != corev1.PodRunning {
		t.Errorf("status: %+v", pod.Status)
	}
	deletion, grace := metav1.NewTime(c.clock.Now().Add(30*time.Second)), int64(30)
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &deletion, &grace
	if _, err := c.client.CoreV1().Pods("default").Update(c.ctx, pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until("the pod is gone", func() bool { return c.pod("web") == nil })
	if got, _ := c.kubelet.nodes.Get("node-0").TakeAddress(); got.String() != "10.244.0.3" {
		t.Errorf("the next address is %v", got)
	}
}

func TestCrashLoop(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.create(podtest.Pod("web", "node-0"))
	name := types.NamespacedName{Namespace: "default", Name: "web"}
	c.until("the pod is ready", func() bool { return isReady(c.pod("web")) })
	for i := range 2 {
		if err := c.kubelet.CrashContainer(name, "app", 3); err != nil {
			t.Fatal(err)
		}
		c.until("the crash shows", func() bool {
			s := c.pod("web").Status.ContainerStatuses[0]
			return s.LastTerminationState.Terminated != nil && (i == 0 && s.State.Running != nil || s.State.Waiting != nil)
		})
	}
	status := c.pod("web").Status.ContainerStatuses[0]
	if status.RestartCount != 1 || status.State.Waiting == nil || status.State.Waiting.Reason != "CrashLoopBackOff" ||
		status.LastTerminationState.Terminated.ExitCode != 3 {
		t.Errorf("after the second crash: %+v", status)
	}
	c.advance(10 * time.Second)
	c.until("the pod is ready again", func() bool { return isReady(c.pod("web")) })
}
