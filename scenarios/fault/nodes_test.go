package fault

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
