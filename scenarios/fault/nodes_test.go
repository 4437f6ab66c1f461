package fault

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func TestNodesLost(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"crash", "partition", "hang"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.web(3)
			wait := b.begin(t.Context(), read(t, "{nodes: {action: "+action+", names: [node-1]}, for: 3m}"))
			b.advance(2 * time.Minute)
			want := corev1.ConditionUnknown
			if action == "hang" {
				want = corev1.ConditionFalse
			}
			if got := b.nodeCondition("node-1", corev1.NodeReady); got != want {
				t.Errorf("meanwhile it is ready: %s, want %s", got, want)
			}
			if err := wait(); err != nil {
				t.Fatal(err)
			}
			b.advance(time.Minute)
			if got := b.nodeCondition("node-1", corev1.NodeReady); got != corev1.ConditionTrue || b.ready() != 3 {
				t.Errorf("in the end it is ready: %s, and %d pods are", got, b.ready())
			}
		})
	}
}

// A fault ends well though an autoscaler has deleted the node meanwhile.
func TestLostNodeIsDeleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	nodes := b.client.CoreV1().Nodes()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "scaled", Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}}}
	if _, err := nodes.Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.advance(time.Second)
	wait := b.begin(t.Context(), read(t, "{nodes: {action: crash, names: [scaled]}, for: 3m}"))
	b.advance(time.Minute)
	if err := nodes.Delete(t.Context(), "scaled", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
}

func TestNodePressure(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(read(t, "nodes: {action: pressure, pressure: disk, count: 3}"))
	b.advance(time.Second)
	if got := b.nodeCondition("node-2", corev1.NodeDiskPressure); got != corev1.ConditionTrue {
		t.Errorf("pressure: %s", got)
	}
	b.over()
	b.advance(time.Second)
	if got := b.nodeCondition("node-2", corev1.NodeDiskPressure); got != corev1.ConditionFalse {
		t.Errorf("pressure in the end: %s", got)
	}
}

func TestSlowNode(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(1)
	b.run(read(t, "nodes: {action: slow, delay: 1m, all: true}"))
	b.run(read(t, "pods: {action: kill}"))
	b.advance(50 * time.Second)
	b.wantReady(0)
	b.advance(20 * time.Second)
	b.wantReady(1)
	b.over()
}

func TestNodesByAPI(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(3)
	node := func() *corev1.Node {
		node, err := b.client.CoreV1().Nodes().Get(t.Context(), "node-0", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return node
	}
	b.run(read(t, "nodes: {action: drain, names: [node-0]}"))
	b.run(read(t, "nodes: {action: taint, names: [node-0], taint: 'a=b:NoSchedule'}"))
	b.advance(time.Minute)
	for _, pod := range b.pods() {
		if pod.Spec.NodeName == "node-0" {
			t.Errorf("pod %s is still there", pod.Name)
		}
	}
	if n := node(); !n.Spec.Unschedulable || len(n.Spec.Taints) != 2 {
		t.Errorf("the node is %+v", n.Spec)
	}
	b.over()
	b.advance(time.Second)
	if n := node(); n.Spec.Unschedulable || len(n.Spec.Taints) != 0 {
		t.Errorf("in the end the node is %+v", n.Spec)
	}
	b.run(read(t, "nodes: {action: delete, names: [node-0]}"))
	b.advance(time.Second)
	if _, err := b.client.CoreV1().Nodes().Get(t.Context(), "node-0", metav1.GetOptions{}); err == nil {
		t.Error("the node is still there")
	}
}

// A drain retries evictions that a budget refuses, as kubectl does, and its notes name the budget.
func TestDrainAgainstABudget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(6, func(spec *corev1.PodSpec) { spec.TerminationGracePeriodSeconds = ptr.To[int64](1) })
	b.budget("five", policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(5))})
	b.advance(time.Second)
	onNode := func() (n int) {
		for _, pod := range b.pods() {
			if pod.Spec.NodeName == "node-0" {
				n++
			}
		}
		return n
	}
	if onNode() < 2 {
		t.Fatalf("%d pods are on node-0, want at least 2", onNode())
	}
	b.run(read(t, "nodes: {action: drain, names: [node-0]}"))
	b.advance(time.Second)
	if onNode() != 0 {
		t.Errorf("%d pods are left on the node:\n%s", onNode(), strings.Join(b.notes, "\n"))
	}
	notes := strings.Join(b.notes, "\n")
	if !strings.Contains(notes, " stays for now: The disruption budget five needs 5 healthy pods and has 6 currently") || !strings.Contains(notes, "node/node-0 drained") {
		t.Errorf("the notes do not name the budget, or the end:\n%s", notes)
	}
	b.over()
}

// A drain that cannot finish ends with its fault, or says which pods stay when its step is ended.
// It is still at the first node, as kubectl, which drains one node after the other.
func TestDrainInVain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(3)
	b.budget("none", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(0))})
	b.advance(time.Second)
	limited := b.begin(t.Context(), read(t, "{nodes: {action: drain, all: true}, for: 32s}"))
	b.advance(32 * time.Second)
	if err := limited(); err == nil || !strings.HasPrefix(err.Error(), "not drained in time: pod default/web-") || len(b.undone) != 0 {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	wait := b.begin(ctx, read(t, "nodes: {action: drain, all: true}"))
	b.advance(time.Minute)
	cancel(errors.New("the time is over"))
	if err := wait(); err == nil || !strings.HasPrefix(err.Error(), "the time is over: pod default/web-") ||
		strings.Count(err.Error(), "stays on node") != 1 || !strings.Contains(err.Error(), "The disruption budget none needs 3 healthy pods") {
		t.Errorf("got %v", err)
	}
	b.over()
}

// A drain that waits for a budget goes on after a time in which the API server cannot reach
// etcd.
func TestDrainDuringAnOutage(t *testing.T) {
	t.Parallel()
	outage := read(t, "{etcd: {action: unavailable}, for: 12s}")
	b := newBench(t, outage)
	b.web(3)
	b.budget("none", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(0))})
	b.advance(time.Second)
	wait := b.begin(t.Context(), read(t, "{nodes: {action: drain, all: true}, for: 1m}"))
	b.advance(2 * time.Second)
	b.run(outage)
	b.advance(time.Minute)
	if err := wait(); err == nil || !strings.HasPrefix(err.Error(), "not drained in time: ") {
		t.Errorf("the drain ended: %v", err)
	}
	b.over()
}

// A drain with a time is over when the nodes are drained, which stay cordoned. A repeated one lasts that time, and
// goes on after one that did not succeed.
func TestDrainWithATime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(3)
	b.advance(time.Second)
	cordoned := func() bool {
		node, err := b.client.CoreV1().Nodes().Get(t.Context(), "node-0", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return node.Spec.Unschedulable
	}
	wait := b.begin(t.Context(), read(t, "{nodes: {action: drain, names: [node-0]}, for: 1h}"))
	b.advance(time.Minute)
	if err := wait(); err != nil || !cordoned() {
		t.Errorf("it ended with %v, cordoned: %t", err, cordoned())
	}
	b.over()
	b.budget("none", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(0))})
	b.advance(time.Second)
	wait = b.begin(t.Context(), read(t, "{nodes: {action: drain, all: true}, for: 1m, every: 2m, times: 2}"))
	b.advance(4 * time.Minute)
	if err := wait(); err != nil || cordoned() {
		t.Errorf("repeated, it ended with %v, cordoned: %t", err, cordoned())
	}
	b.over()
}

// As kubectl, a drain does not begin on a node with pods that it would lose, unless its options allow that.
func TestDrainOfPodsThatAreLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(1, func(spec *corev1.PodSpec) {
		spec.NodeName = "node-0"
		spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	})
	bare := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "bare", Namespace: "default"},
		Spec:       corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "c", Image: "c"}}},
	}
	if _, err := b.client.CoreV1().Pods("default").Create(t.Context(), bare, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.advance(time.Second)
	for name, want := range map[string]string{
		"node-0": "cannot delete Pods with local storage (use --delete-emptydir-data to override): default/web-",
		"node-1": "cannot delete Pods that declare no controller (use --force to override): default/bare",
	} {
		wait := b.begin(t.Context(), read(t, "nodes: {action: drain, names: ["+name+"]}"))
		if err := wait(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("draining %s: %v, want %s", name, err, want)
		}
	}
	b.run(read(t, "nodes: {action: drain, names: [node-1], force: true}"))
	if _, err := b.client.CoreV1().Pods("default").Get(t.Context(), "bare", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the pod after the drain with force: %v", err)
	}
	b.over()
}

func TestUncordonDuringAnOutage(t *testing.T) {
	t.Parallel()
	outage := read(t, "{etcd: {action: unavailable}, for: 20s}")
	b := newBench(t, outage)
	wait := b.begin(t.Context(), read(t, "{nodes: {action: cordon, all: true}, for: 10s}"))
	b.advance(5 * time.Second)
	b.run(outage)
	b.advance(30 * time.Second)
	if err := wait(); err != nil {
		t.Errorf("taking the cordon back: %v", err)
	}
	nodes, err := b.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes.Items {
		if node := &nodes.Items[i]; node.Spec.Unschedulable {
			t.Errorf("node %s is still cordoned", node.Name)
		}
	}
	b.over()
}
