package plugins

import (
	"testing"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func TestSearch(t *testing.T) {
	begin := func(trace *Trace) *Search {
		return Filter(Input{Pod: framework.NewPodInfo(st.Pod("p")), Snapshot: framework.SnapshotOf(append(st.Nodes(3), st.Node("x", st.Cordoned)), nil), Pick: first, Trace: trace})
	}
	s := begin(nil)
	if len(s.Feasible()) != 3 || s.Extended() {
		t.Fatalf("feasible: %d", len(s.Feasible()))
	}
	if d := s.Decide([]int64{0, 20, 10}); d.Node != "node-1" {
		t.Errorf("chose %q for its additional score", d.Node)
	}
	trace := &Trace{}
	s = begin(trace)
	for _, node := range []string{"x", "gone"} {
		if s.Exclude(node, "no", false); s.Extended() {
			t.Errorf("%s was feasible", node)
		}
	}
	s.Exclude("node-0", "no licence", false)
	s.Exclude("node-1", "old", true)
	if d := s.Decide(nil); d.Node != "node-2" || !s.Extended() || trace.Nodes[0].Plugin != Extenders {
		t.Errorf("chose %q, trace %+v", d.Node, trace.Nodes)
	}
	s.Exclude("node-2", "", true)
	d := s.Decide(nil)
	d.Diagnosis.Preemption = Preempt(s.in, d.Diagnosis).Message
	const want = "0/4 nodes are available: 1 no licence, 1 node(s) were unschedulable, 1 old. preemption: 0/4 nodes are available: 1 No preemption victims found for incoming pod, 3 Preemption is not helpful for scheduling."
	if got := d.Diagnosis.Message(); d.Node != "" || got != want {
		t.Errorf("chose %q:\n got %s\nwant %s", d.Node, got, want)
	}
}
