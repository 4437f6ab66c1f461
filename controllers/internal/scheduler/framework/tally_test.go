package framework

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// Incremental counts equal counts from scratch, whatever the sets.
func TestTallyForgetsWhatIsUnused(t *testing.T) {
	s := SnapshotOf(st.Nodes(2), st.WebOn("node-0", "node-1", "node-1"))
	web := NewPodSet("default", labels.SelectorFromSet(labels.Set{"app": "web"}))
	for i := range 10 * minSets {
		s.CountsOf(NewPodSet("default", labels.SelectorFromSet(labels.Set{"app": fmt.Sprint(i)})))
		if got := s.CountsOf(web); !slices.Equal(got, []int32{1, 2}) {
			t.Fatalf("after %d other sets: %v", i, got)
		}
	}
	if len(s.tally.sets) > 2*minSets {
		t.Errorf("%d sets are kept", len(s.tally.sets))
	}
	s.tally.change(PodChange{"node-0", NewPodInfo(st.Pod("x", st.PodLabel("app", "web"))), 1})
	if got := s.CountsOf(web); !slices.Equal(got, []int32{2, 2}) {
		t.Errorf("with one pod more: %v", got)
	}
}
