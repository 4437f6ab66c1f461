package kubeletsim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/podtest"
)

// TestImagePull: a pod waits while its node pulls the image of a profile. The next one on the node
// does not, and the node lists the image with its size.
func TestImagePull(t *testing.T) {
	c := newCluster(t, Options{Nodes: 2}, aboutImage("shop", "image", "shop/*", "pull-duration", "30s", "size", "250M"))
	ofShop := func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "shop/web:v1" }
	start := func(name, node string) {
		c.create(podtest.Pod(name, node, ofShop))
		c.until(name+" was started", func() bool { return c.pod(name).Status.StartTime != nil })
	}
	start("first", "node-0")
	c.advance(29 * time.Second)
	if got := stateOf(c.pod("first")); got != "waiting ContainerCreating" {
		t.Errorf("after 29 s: %s", got)
	}
	c.advance(2 * time.Second)
	if got := stateOf(c.pod("first")); got != "running" {
		t.Errorf("after 31 s: %s", got)
	}
	c.advance(10 * time.Second)
	images := c.node("node-0").Status.Images
	if len(images) != 1 || images[0].SizeBytes != 250_000_000 || images[0].Names[1] != "shop/web:v1" {
		t.Errorf("images of the node: %v", images)
	}
	start("second", "node-0")
	start("elsewhere", "node-1")
	c.advance(time.Second)
	if second, elsewhere := stateOf(c.pod("second")), stateOf(c.pod("elsewhere")); second != "running" || elsewhere != "waiting ContainerCreating" {
		t.Errorf("the second is %s, that of another node %s", second, elsewhere)
	}
	for reason, want := range map[string]string{
		"Pulling": `Pulling image "shop/web:v1"`,
		"Pulled":  `Successfully pulled image "shop/web:v1" in 30s (30s including waiting). Image size: 250000000 bytes.`,
	} {
		if got := c.messages("first", reason); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q", reason, got)
		}
	}
}
