package nodes

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestVolumesInUse lets two pods use a volume, which is in use until both have released it.
func TestVolumesInUse(t *testing.T) {
	t.Parallel()
	n := &Node{}
	step := func(what string, changed, wantChanged bool, want ...corev1.UniqueVolumeName) {
		t.Helper()
		if got := n.inUse(); changed != wantChanged || n.TakeChanged() != wantChanged || !slices.Equal(got, want) {
			t.Errorf("%s: changed %v, in use %v; want %v, %v", what, changed, got, wantChanged, want)
		}
	}
	step("pod a uses y", n.UseVolume("a", "y"), true, "y")
	step("pod a uses y again", n.UseVolume("a", "y"), false, "y")
	step("pod b uses y", n.UseVolume("b", "y"), true, "y")
	step("pod b uses x", n.UseVolume("b", "x"), true, "x", "y")
	if got := n.PodsWithVolumes(); !slices.Equal(got, []types.UID{"a", "b"}) {
		t.Errorf("the pods %v use volumes", got)
	}
	step("pod b releases all", n.ReleaseVolumes("b"), true, "y")
	step("pod b releases all again", n.ReleaseVolumes("b"), false, "y")
	step("pod a releases all", n.ReleaseVolumes("a"), true)
}
