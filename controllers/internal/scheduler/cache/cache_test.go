package cache

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// A pod that came while nothing was decided is counted, were there ever so many.
func TestChangesThatAreTooMany(t *testing.T) {
	nodes := New()
	nodes.SetNode(st.Node("n", st.Allocatable("pods", "100000")))
	web := framework.NewPodSet("default", labels.SelectorFromSet(labels.Set{"app": "web"}))
	s := nodes.UpdateSnapshot(nil)
	s.CountsOf(web)
	for i := range maxChanges + 10 {
		p := st.Pod("p", st.PodLabel("app", "web"))
		p.UID = types.UID(fmt.Sprint(i))
		nodes.AssumePod(framework.NewPodInfo(p), "n")
	}
	if got := nodes.UpdateSnapshot(s).CountsOf(web); got[0] != maxChanges+10 {
		t.Errorf("%d pods are counted", got[0])
	}
}

// Pods that stay behind on a node that is gone do not count, neither for the node
// that comes instead, until theirs comes back.
func TestNodesThatComeAndGo(t *testing.T) {
	nodes := New()
	avoids := st.Avoiding(st.Near(corev1.LabelHostname, "web"))
	web := framework.NewPodSet("default", labels.SelectorFromSet(labels.Set{"app": "web"}))
	var s *framework.Snapshot
	expect := func(want ...int32) {
		t.Helper()
		s = nodes.UpdateSnapshot(s)
		var counts, held []int32
		for i := range s.Len() {
			slot := s.Slot(i)
			counts = append(counts, s.CountsOf(web)[slot])
			var n int32
			for _, h := range s.Held() {
				n += h.Counts[slot]
			}
			held = append(held, n)
		}
		if !slices.Equal(counts, want) || !slices.Equal(held, want) {
			t.Fatalf("%v are counted and %v held, want %v", counts, held, want)
		}
	}
	for _, n := range st.Nodes(2) {
		nodes.SetNode(n)
	}
	for _, p := range st.WebOn("node-0", "node-1", "node-1") {
		avoids(p)
		nodes.SetPod(p)
	}
	expect(1, 2)
	nodes.RemoveNode("node-0")
	expect(2)
	nodes.RemovePod("uid-web1")
	nodes.SetNode(st.Node("node-2"))
	expect(1, 0)
	late := st.Pod("late", st.OnNode("node-0"), st.PodLabel("app", "web"), avoids)
	nodes.SetPod(late)
	expect(1, 0)
	nodes.SetNode(st.Node("node-0"))
	expect(2, 1, 0)
	nodes.RemoveNode("node-0")
	nodes.SetNode(st.Node("node-0"))
	nodes.RemovePod(late.UID)
	expect(1, 1, 0)
}

// A node that gets another label is in another domain from then on.
func TestDomainsFollowLabels(t *testing.T) {
	nodes := New()
	for _, n := range st.Nodes(2, st.NodeLabel("rack", "1")) {
		nodes.SetNode(n)
	}
	s := nodes.UpdateSnapshot(nil)
	if got := s.DomainsOf("rack"); got.Len() != 1 {
		t.Fatalf("%d racks", got.Len())
	}
	nodes.SetNode(st.Node("node-0", st.NodeLabel("rack", "2")))
	s = nodes.UpdateSnapshot(s)
	if got := s.DomainsOf("rack"); got.Len() != 2 || got.Of(0) != 0 || got.Of(1) != 1 {
		t.Errorf("%d racks: %d and %d", got.Len(), got.Of(0), got.Of(1))
	}
}
