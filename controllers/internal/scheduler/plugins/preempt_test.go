package plugins

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func TestPreempt(t *testing.T) {
	on := func(node, name, cpu string, options ...st.PodOption) *corev1.Pod {
		return st.Pod(name, append(options, st.OnNode(node), st.Requests("cpu", cpu))...)
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
			name: "only as many as needed, the least important", pod: st.Pod("p", st.Requests("cpu", "2"), st.Priority(10)), node: "node-1", victims: "c ",
			on: []*corev1.Pod{on("node-0", "x", "4", st.Priority(10)), on("node-1", "a", "1", st.Priority(3)), on("node-1", "b", "1", st.Priority(2)), on("node-1", "c", "2", st.Priority(1))},
		},
		{
			name: "lowest highest priority", pod: st.Pod("p", st.Requests("cpu", "4"), st.Priority(10)), node: "node-1", victims: "b c ",
			on: []*corev1.Pod{on("node-0", "a", "4", st.Priority(5)), on("node-1", "b", "2", st.Priority(4)), on("node-1", "c", "2", st.Priority(4))},
		},
		{
			name: "smallest sum", pod: st.Pod("p", st.Requests("cpu", "4"), st.Priority(10)), node: "node-0", victims: "a ",
			on: []*corev1.Pod{on("node-0", "a", "4", st.Priority(4)), on("node-1", "b", "2", st.Priority(4)), on("node-1", "c", "2", st.Priority(-4))},
		},
		{
			name: "started last", pod: st.Pod("p", st.Requests("cpu", "4"), st.Priority(10)), node: "node-1", victims: "b ",
			on: []*corev1.Pod{on("node-0", "a", "4", st.Started(100)), on("node-1", "b", "4", st.Started(200))},
		},
		{
			name: "the younger of equals goes", pod: st.Pod("p", st.Requests("cpu", "2"), st.Priority(10)), node: "node-0", victims: "b ",
			on: []*corev1.Pod{on("node-0", "b", "2", st.Started(200)), on("node-0", "a", "2", st.Started(100)), on("node-1", "x", "4", st.Priority(10))},
		},
		{
			name: "host port", pod: st.Pod("p", st.HostPort("", 80), st.Priority(1)), node: "node-0", victims: "a ",
			on: []*corev1.Pod{on("node-0", "a", "1", st.HostPort("", 80)), on("node-0", "b", "1"), on("node-1", "x", "1", st.HostPort("", 80), st.Priority(2))},
		},
		{
			name: "waits for its victims", pod: st.Pod("p", st.Requests("cpu", "4"), st.Priority(1)), prefer: "node-0", message: messageTerminating,
			on: []*corev1.Pod{on("node-0", "a", "4", st.BeingPreempted), on("node-1", "b", "4")},
		},
		{
			name: "terminations for other reasons are not waited for", pod: st.Pod("p", st.Requests("cpu", "4"), st.Priority(1)), prefer: "node-0", node: "node-1", victims: "b ",
			on: []*corev1.Pod{on("node-0", "a", "4", st.Started(100)), on("node-1", "b", "4", st.Started(200))},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Pod: framework.NewPodInfo(tt.pod), Snapshot: framework.SnapshotOf(st.Nodes(2), tt.on), Prefer: tt.prefer, Pick: first}
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
