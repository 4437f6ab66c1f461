package nodes

import "testing"

// TestSetStoring: a pod that stores files makes its node be looked at, until it is released.
func TestSetStoring(t *testing.T) {
	n := testNode(t)
	if n.SetStoring("a", false) || n.Demands() {
		t.Error("a pod without files")
	}
	if !n.SetStoring("a", true) || n.SetStoring("a", true) || !n.Storing() || !n.Demands() {
		t.Error("a pod with files")
	}
	n.Release("a")
	if n.Storing() || n.Demands() {
		t.Error("a pod that was released")
	}
}
