package nodes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// TestImageList: a node lists at most 50 images, the largest first; of equal size, the newest first. A
// node that is adopted lists them as before.
func TestImageList(t *testing.T) {
	n := testNode(t)
	text := func(n *Node) string {
		var all []string
		for _, image := range n.imageList() {
			all = append(all, fmt.Sprintf("%s %d", image.Names[len(image.Names)-1], image.SizeBytes))
		}
		return strings.Join(all, ", ")
	}
	n.AddImages([]lifecycle.Image{{Name: "a"}, {Name: "b", Size: 20}, {Name: "c"}, {Name: "d", Size: 30}}, time.Time{})
	n.AddImages([]lifecycle.Image{{Name: "e", Size: 20}, {Name: "b:latest", Size: 50}}, time.Time{})
	const want = "d:latest 30, e:latest 20, b:latest 20, c:latest 0, a:latest 0"
	if got := text(n); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	again := testNode(t)
	again.seeImages(n.imageList())
	if got := text(again); got != want {
		t.Errorf("after a restart: %s", got)
	}
	for i := range 60 {
		n.AddImages([]lifecycle.Image{{Name: fmt.Sprint("more:", i)}}, time.Time{})
	}
	list := n.imageList()
	if len(list) != maxImages || list[0].SizeBytes != 30 || list[3].Names[1] != "more:59" {
		t.Errorf("%d images: %v", len(list), list)
	}
}
