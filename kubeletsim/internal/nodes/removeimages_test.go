package nodes

import (
	"fmt"
	"testing"
	"time"

	"minikcm.dev/minikcm/kubeletsim/internal/eviction"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// TestRemoveImages: a removed image is not on the node any more, and one that came back is a new one.
func TestRemoveImages(t *testing.T) {
	n, now := testNode(t), podtest.Epoch
	if n.AddImages([]lifecycle.Image{{Name: "none"}}, now) || !n.AddImages([]lifecycle.Image{{Name: "nginx", Size: 30}, {Name: "b:1", Size: 20}}, now) {
		t.Error("AddImages")
	}
	n.StopUsing(podtest.Pod("p", "node-0"), now.Add(time.Minute))
	n.RemoveImages([]eviction.Image{{Name: "b:1"}, {Name: "c:1"}})
	if n.HasImage("b:1") || !n.HasImage("nginx") || n.ImageBytes() != 30 {
		t.Errorf("%d bytes", n.ImageBytes())
	}
	n.AddImages([]lifecycle.Image{{Name: "b:1", Size: 20}}, now.Add(time.Hour))
	got := ""
	for _, image := range n.Images(map[string]bool{"b:1": true}) {
		used := "never used"
		if !image.Used.IsZero() {
			used = "used until " + image.Used.Sub(now).String()
		}
		got += fmt.Sprintf("%s %d since %v %s %v; ", image.Name, image.Size, image.Since.Sub(now), used, image.InUse)
	}
	if want := "none:latest 0 since 0s never used false; b:1 20 since 1h0m0s never used true; nginx:latest 30 since 0s used until 1m0s false; "; got != want {
		t.Error(got)
	}
}
