package plugins

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func first(int) int { return 0 }

func TestMessages(t *testing.T) {
	never := func(p *corev1.Pod) { policy := corev1.PreemptNever; p.Spec.PreemptionPolicy = &policy }
	full := []*corev1.Pod{
		st.Pod("a", st.OnNode("node-0"), st.Requests("cpu", "4")), st.Pod("b", st.OnNode("node-1"), st.Requests("cpu", "4")),
		st.Pod("c", st.OnNode("node-2"), st.Requests("cpu", "4")),
	}
	tests := []struct {
		name  string
		nodes []*corev1.Node
		on    []*corev1.Pod
		pod   *corev1.Pod
		want  string
	}{
		{"no nodes", nil, nil, st.Pod("p"), "no nodes available to schedule pods"},
		{
			"reasons are counted and sorted",
			[]*corev1.Node{st.Node("a"), st.Node("b"), st.Node("c", st.Tainted("t", corev1.TaintEffectNoSchedule))},
			nil,
			st.Pod("p", st.Requests("cpu", "5", "memory", "9Gi")),
			"0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu, 2 Insufficient memory. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
		},
		{
			"no victims", st.Nodes(3), full, st.Pod("p", st.Requests("cpu", "1")),
			"0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.",
		},
		{
			"some without victims, some out of question", append(st.Nodes(2), st.Node("x", st.Cordoned)), full[:2], st.Pod("p", st.Requests("cpu", "1")),
			"0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.",
		},
		{
			"policy Never", st.Nodes(3), full, st.Pod("p", st.Requests("cpu", "1"), st.Priority(1), never),
			"0/3 nodes are available: 3 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.",
		},
		{
			"victims found", st.Nodes(3), full, st.Pod("p", st.Requests("cpu", "1"), st.Priority(1)),
			"0/3 nodes are available: 3 Insufficient cpu.",
		},
		{
			"victims would not be enough", st.Nodes(1),
			[]*corev1.Pod{st.Pod("a", st.OnNode("node-0"), st.Requests("cpu", "2"), st.Priority(9)), st.Pod("b", st.OnNode("node-0"), st.Requests("cpu", "2"))},
			st.Pod("p", st.Requests("cpu", "3"), st.Priority(5)),
			"0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Insufficient cpu.",
		},
		{
			"named nodes only", st.Nodes(3), full, st.Pod("p", st.Requests("cpu", "1"), st.NamedNodes("node-1", "gone")),
			"0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.",
		},
		{
			"names that exclude each other", st.Nodes(2), nil, st.Pod("p", st.NamedNodes("node-1"), func(p *corev1.Pod) {
				term := &p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
				other := term.MatchFields[0]
				other.Values = []string{"node-0"}
				term.MatchFields = append(term.MatchFields, other)
			}),
			"0/2 nodes are available: pod affinity terms conflict. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Pod: framework.NewPodInfo(tt.pod), Snapshot: framework.SnapshotOf(tt.nodes, tt.on), Pick: first}
			d := Decide(in)
			if d.Node != "" {
				t.Fatalf("chose %s", d.Node)
			}
			if len(tt.nodes) > 0 {
				d.Diagnosis.Preemption = Preempt(in, d.Diagnosis).Message
			}
			if got := d.Diagnosis.Message(); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	t.Run("ties are picked", func(t *testing.T) {
		for want := range 3 {
			in := Input{Pod: framework.NewPodInfo(st.Pod("p")), Snapshot: framework.SnapshotOf(st.Nodes(3), nil), Pick: func(n int) int {
				if n != 3 {
					t.Errorf("picked among %d", n)
				}
				return want
			}}
			if got := Decide(in).Node; got != st.Nodes(3)[want].Name {
				t.Errorf("chose %s, want node-%d", got, want)
			}
		}
	})
	t.Run("of many nodes some are looked at, in turn", func(t *testing.T) {
		in := Input{Pod: framework.NewPodInfo(st.Pod("p")), Snapshot: framework.SnapshotOf(st.Nodes(1000), nil), Pick: first}
		d := Decide(in)
		if d.Next != 420 {
			t.Errorf("next start is %d, want 420", d.Next)
		}
		in.Start = d.Next * 2
		if got := Decide(in).Next; got != 260 {
			t.Errorf("next start is %d, want 260", got)
		}
	})
	t.Run("nominated node", func(t *testing.T) {
		busy := st.Pod("o", st.OnNode("node-1"), st.Requests("cpu", "1"))
		in := Input{Pod: framework.NewPodInfo(st.Pod("p")), Snapshot: framework.SnapshotOf(st.Nodes(2), []*corev1.Pod{busy}), Pick: first, Prefer: "node-1"}
		if got := Decide(in).Node; got != "node-1" {
			t.Errorf("chose %s, want the nominated node", got)
		}
	})
	t.Run("room that was made for another", func(t *testing.T) {
		nominated := map[string][]*framework.PodInfo{"node-0": {framework.NewPodInfo(st.Pod("o", st.Requests("cpu", "3"), st.Priority(5)))}}
		for _, tt := range []struct {
			priority int32
			want     string
		}{{4, ""}, {5, ""}, {6, "node-0"}} {
			in := Input{Pod: framework.NewPodInfo(st.Pod("p", st.Requests("cpu", "2"), st.Priority(tt.priority))), Snapshot: framework.SnapshotOf(st.Nodes(1), nil), Nominated: nominated, Pick: first}
			if got := Decide(in).Node; got != tt.want {
				t.Errorf("priority %d: chose %q, want %q", tt.priority, got, tt.want)
			}
		}
	})
}

func TestFeasibleToFind(t *testing.T) {
	for total, want := range map[int]int{10: 10, 99: 99, 100: 100, 200: 100, 1000: 420, 5000: 500, 10000: 500} {
		if got := feasibleToFind(total, 0); got != want {
			t.Errorf("of %d nodes: %d, want %d", total, got, want)
		}
	}
}

// The node that is freed for a pod is tried whatever nodes the pod's affinity names, and counts with its reason.
func TestRejectsThePreferredNode(t *testing.T) {
	d := Decide(Input{
		Pod: framework.NewPodInfo(st.Pod("p", st.NamedNodes("node-1"))), Prefer: "node-0", Pick: first,
		Snapshot: framework.SnapshotOf(st.Nodes(4, st.Cordoned), nil),
	})
	const want = "0/4 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity NodeUnschedulable], 2 node(s) were unschedulable."
	if d.Node != "" || d.Diagnosis.Message() != want {
		t.Errorf("node %q, %+v", d.Node, d.Diagnosis)
	}
}
