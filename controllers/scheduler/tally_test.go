package scheduler

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// What is counted along the way equals what is counted anew, whatever the sets.
func TestTallyForgetsWhatIsUnused(t *testing.T) {
	s := snapshotOf(testNodes(2), webOn("node-0", "node-1", "node-1")...)
	web := NewPodSet("default", labels.SelectorFromSet(labels.Set{"app": "web"}))
	for i := range 10 * minSets {
		s.countsOf(NewPodSet("default", labels.SelectorFromSet(labels.Set{"app": fmt.Sprint(i)})))
		if got := s.countsOf(web); !slices.Equal(got, []int32{1, 2}) {
			t.Fatalf("after %d other sets: %v", i, got)
		}
	}
	if len(s.tally.sets) > 2*minSets {
		t.Errorf("%d sets are kept", len(s.tally.sets))
	}
	s.tally.change(podChange{"node-0", NewPodInfo(testPod("x", podLabel("app", "web"))), 1})
	if got := s.countsOf(web); !slices.Equal(got, []int32{2, 2}) {
		t.Errorf("with one pod more: %v", got)
	}
}

// A pod that came while nothing was decided is counted, were there ever so many.
func TestChangesThatAreTooMany(t *testing.T) {
	beliefs := newBelieved()
	beliefs.setNode(testNode("n", allocatable("pods", "100000")))
	web := NewPodSet("default", labels.SelectorFromSet(labels.Set{"app": "web"}))
	s := beliefs.update(nil)
	s.countsOf(web)
	for i := range maxChanges + 10 {
		p := testPod("p", podLabel("app", "web"))
		p.UID = types.UID(fmt.Sprint(i))
		beliefs.assume(NewPodInfo(p), "n")
	}
	if got := beliefs.update(s).countsOf(web); got[0] != maxChanges+10 {
		t.Errorf("%d pods are counted", got[0])
	}
}

// Pods that stay behind on a node that is gone do not count, neither for the node
// that comes instead, until theirs comes back.
func TestNodesThatComeAndGo(t *testing.T) {
	beliefs := newBelieved()
	avoids := avoiding(near(corev1.LabelHostname, "web"))
	web := NewPodSet("default", labels.SelectorFromSet(labels.Set{"app": "web"}))
	var s *Snapshot
	expect := func(want ...int32) {
		t.Helper()
		s = beliefs.update(s)
		var counts, held []int32
		for _, slot := range s.slots {
			counts = append(counts, s.countsOf(web)[slot])
			var n int32
			for _, h := range s.tally.held {
				n += h.counts[slot]
			}
			held = append(held, n)
		}
		if !slices.Equal(counts, want) || !slices.Equal(held, want) {
			t.Fatalf("%v are counted and %v held, want %v", counts, held, want)
		}
	}
	for _, n := range testNodes(2) {
		beliefs.setNode(n)
	}
	for _, p := range webOn("node-0", "node-1", "node-1") {
		avoids(p)
		beliefs.setPod(p)
	}
	expect(1, 2)
	beliefs.removeNode("node-0")
	expect(2)
	beliefs.removePod("uid-web1")
	beliefs.setNode(testNode("node-2"))
	expect(1, 0)
	late := testPod("late", onNode("node-0"), podLabel("app", "web"), avoids)
	beliefs.setPod(late)
	expect(1, 0)
	beliefs.setNode(testNode("node-0"))
	expect(2, 1, 0)
	beliefs.removeNode("node-0")
	beliefs.setNode(testNode("node-0"))
	beliefs.removePod(late.UID)
	expect(1, 1, 0)
}

// A node that gets another label is in another domain from then on.
func TestDomainsFollowLabels(t *testing.T) {
	beliefs := newBelieved()
	for _, n := range testNodes(2, nodeLabel("rack", "1")) {
		beliefs.setNode(n)
	}
	s := beliefs.update(nil)
	if got := s.domainsOf("rack"); got.n != 1 {
		t.Fatalf("%d racks", got.n)
	}
	beliefs.setNode(testNode("node-0", nodeLabel("rack", "2")))
	s = beliefs.update(s)
	if got := s.domainsOf("rack"); got.n != 2 || !slices.Equal(got.at, []int32{0, 1}) {
		t.Errorf("%d racks: %v", got.n, got.at)
	}
}
