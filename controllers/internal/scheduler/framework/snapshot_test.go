package framework

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func TestZonesInTurn(t *testing.T) {
	zone := func(z string) st.NodeOption { return st.NodeLabel(corev1.LabelTopologyZone, z) }
	s := SnapshotOf([]*corev1.Node{
		st.Node("a1", zone("a")), st.Node("a2", zone("a")), st.Node("a3", zone("a")), st.Node("b1", zone("b")), st.Node("c1", zone("c")), st.Node("c2", zone("c")),
	}, nil)
	var got string
	for _, n := range s.nodes {
		got += n.Name() + " "
	}
	if got != "a1 b1 c1 a2 c2 a3 " {
		t.Errorf("order %s", got)
	}
}

func TestSoftTaints(t *testing.T) {
	tainted := NewNodeInfo(st.Node("a", st.Tainted("t", corev1.TaintEffectPreferNoSchedule)))
	plain := NewNodeInfo(st.Node("a"))
	s := NewSnapshot([]*NodeInfo{plain, NewNodeInfo(st.Node("b", st.Tainted("t", corev1.TaintEffectNoSchedule)))})
	check := func(when string, want bool) {
		t.Helper()
		if s.HasSoftTaints() != want {
			t.Errorf("%s: %t, want %t", when, !want, want)
		}
	}
	check("none", false)
	s.Set(tainted)
	check("one node", true)
	s.Set(tainted.With(NewPodInfo(st.Pod("p"))))
	check("with a pod", true)
	s.Set(plain)
	check("without the taint", false)
	s.Set(tainted)
	s = s.WithNodes([]*NodeInfo{tainted})
	check("of other nodes", true)
	s = s.WithNodes(nil)
	check("of no nodes", false)
}
