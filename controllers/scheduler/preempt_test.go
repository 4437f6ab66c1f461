package scheduler

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func started(seconds int64) podOption {
	return func(p *corev1.Pod) { at := metav1.Unix(seconds, 0); p.Status.StartTime = &at }
}

func beingPreempted(p *corev1.Pod) {
	p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler}}
}

func TestPreempt(t *testing.T) {
	on := func(node, name, cpu string, options ...podOption) *corev1.Pod {
		return testPod(name, append(options, onNode(node), requests("cpu", cpu))...)
	}
	tests := []struct {
		name    string
		on      []*corev1.Pod
		pod     *corev1.Pod
		prefer  string
		node    string
		victims string
		message string
	}{
		{
			name: "only as many as needed, the least important", pod: testPod("p", requests("cpu", "2"), priority(10)), node: "node-1", victims: "c ",
			on: []*corev1.Pod{on("node-0", "x", "4", priority(10)), on("node-1", "a", "1", priority(3)), on("node-1", "b", "1", priority(2)), on("node-1", "c", "2", priority(1))},
		},
		{
			name: "lowest highest priority", pod: testPod("p", requests("cpu", "4"), priority(10)), node: "node-1", victims: "b c ",
			on: []*corev1.Pod{on("node-0", "a", "4", priority(5)), on("node-1", "b", "2", priority(4)), on("node-1", "c", "2", priority(4))},
		},
		{
			name: "smallest sum", pod: testPod("p", requests("cpu", "4"), priority(10)), node: "node-0", victims: "a ",
			on: []*corev1.Pod{on("node-0", "a", "4", priority(4)), on("node-1", "b", "2", priority(4)), on("node-1", "c", "2", priority(-4))},
		},
		{
			name: "started last", pod: testPod("p", requests("cpu", "4"), priority(10)), node: "node-1", victims: "b ",
			on: []*corev1.Pod{on("node-0", "a", "4", started(100)), on("node-1", "b", "4", started(200))},
		},
		{
			name: "the younger of equals goes", pod: testPod("p", requests("cpu", "2"), priority(10)), node: "node-0", victims: "b ",
			on: []*corev1.Pod{on("node-0", "b", "2", started(200)), on("node-0", "a", "2", started(100)), on("node-1", "x", "4", priority(10))},
		},
		{
			name: "host port", pod: testPod("p", hostPortOf("", 80), priority(1)), node: "node-0", victims: "a ",
			on: []*corev1.Pod{on("node-0", "a", "1", hostPortOf("", 80)), on("node-0", "b", "1"), on("node-1", "x", "1", hostPortOf("", 80), priority(2))},
		},
		{
			name: "waits for its victims", pod: testPod("p", requests("cpu", "4"), priority(1)), prefer: "node-0", message: messageTerminating,
			on: []*corev1.Pod{on("node-0", "a", "4", beingPreempted), on("node-1", "b", "4")},
		},
		{
			name: "somebody else's termination is not waited for", pod: testPod("p", requests("cpu", "4"), priority(1)), prefer: "node-0", node: "node-1", victims: "b ",
			on: []*corev1.Pod{on("node-0", "a", "4", started(100)), on("node-1", "b", "4", started(200))},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Pod: NewPodInfo(tt.pod), Snapshot: snapshotOf(testNodes(2), tt.on...), Prefer: tt.prefer, Pick: first}
			d := Decide(in)
			if d.Node != "" {
				t.Fatalf("fits on %s without", d.Node)
			}
			p := Preempt(in, d.Diagnosis)
			var victims string
			for _, v := range p.Victims {
				victims += v.Pod.Name + " "
			}
			if p.Node != tt.node || victims != tt.victims || p.Message != tt.message {
				t.Errorf("got %q %q %q, want %q %q %q", p.Node, victims, p.Message, tt.node, tt.victims, tt.message)
			}
		})
	}
}
