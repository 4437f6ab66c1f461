package framework

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// TestWhatIf checks that the counts follow the changes, and that all is as before when these are undone.
func TestWhatIf(t *testing.T) {
	s := SnapshotOf(st.Nodes(2), st.WebOn("node-0", "node-1", "node-1"))
	web := NewPodSet("default", labels.SelectorFromSet(labels.Set{"app": "web"}))
	state := func() string {
		text := fmt.Sprint(s.CountsOf(web))
		for _, n := range s.Nodes() {
			text += " " + n.Name() + ":"
			for _, p := range n.Pods {
				text += " " + p.Pod.Name
			}
			text += fmt.Sprint(n.Requested)
		}
		return text
	}
	before, nodes := state(), slices.Clone(s.Nodes())
	outer := s.WhatIf()
	outer.Remove(1, s.Nodes()[1].Pods[0])
	if got := s.CountsOf(web); !slices.Equal(got, []int32{1, 1}) {
		t.Errorf("without a pod: %v", got)
	}
	between := state()
	inner := s.WhatIf()
	inner.Add(0, NewPodInfo(st.Pod("x", st.PodLabel("app", "web"), st.Requests("cpu", "1"))))
	inner.Remove(1, s.Nodes()[1].Pods[0])
	if got := s.CountsOf(web); !slices.Equal(got, []int32{2, 0}) {
		t.Errorf("with both changes: %v", got)
	}
	inner.Undo()
	if got := state(); got != between {
		t.Errorf("after the inner changes: %s, want %s", got, between)
	}
	outer.Undo()
	if got := state(); got != before || !slices.Equal(s.Nodes(), nodes) {
		t.Errorf("in the end: %s, want %s", got, before)
	}
}
