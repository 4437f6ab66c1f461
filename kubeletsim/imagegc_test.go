package kubeletsim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

func imagesOn(c *cluster, name string) string {
	var all []string
	for _, image := range c.node(name).Status.Images {
		all = append(all, image.Names[len(image.Names)-1])
	}
	return strings.Join(all, " ")
}

// TestImageCollection: a node whose disk is nearly full of images removes those that have been unused
// for longest. When that is not enough, it says so.
func TestImageCollection(t *testing.T) {
	disk := nodes.Spec{
		Capacity: podtest.Resources("ephemeral-storage", "10Gi"),
		Images:   []lifecycle.Image{{Name: "old:1", Size: 2 << 30}, {Name: "used:1", Size: 5 << 30}},
	}
	c := newCluster(t, Options{Nodes: 1, Node: disk}, aboutImage("big", "image", "big:*", "size", "2Gi"))
	of := func(image string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = image }
	}
	c.create(podtest.Pod("used", "node-0", of("used:1")))
	c.until("it runs", func() bool { return isReady(c.pod("used")) })
	c.advance(11 * time.Minute)
	if got := imagesOn(c, "node-0"); got != "used:1 old:1" {
		t.Fatalf("at 70 %%: %s", got)
	}
	c.create(podtest.Pod("big", "node-0", of("big:1")))
	c.until("it runs", func() bool { return isReady(c.pod("big")) })
	c.advance(6 * time.Minute)
	if got := imagesOn(c, "node-0"); got != "used:1 big:1" {
		t.Errorf("after a collection: %s", got)
	}
	if got := append(reported(c, "FreeDiskSpaceFailed"), reported(c, "Evicted")...); len(got) != 0 {
		t.Errorf("%q", got)
	}
	c.create(podtest.Pod("full", "node-0", of("full:1"), podtest.Annotated("ephemeral-storage", "steps 0 1s 1700Mi")))
	c.until("it runs", func() bool { return isReady(c.pod("full")) })
	c.advance(6 * time.Minute)
	const failed = "Warning node-0: Insufficient free disk space on the node's image filesystem (87% of 10.0 GiB used). Failed to free sufficient space by deleting unused images (freed 0 bytes). " +
		"Investigate disk usage, as it could be used by active images, logs, volumes, or other data."
	if got := reported(c, "FreeDiskSpaceFailed"); len(got) != 1 || got[0] != failed {
		t.Errorf("%q", got)
	}
	if got := reported(c, "ImageGCFailed"); len(got) != 0 {
		t.Errorf("%q after the first failure", got)
	}
	c.advance(6 * time.Minute)
	if got := reported(c, "ImageGCFailed"); len(got) != 1 || got[0] != failed {
		t.Errorf("%q", got)
	}
	if got := imagesOn(c, "node-0"); got != "used:1 big:1 full:1" {
		t.Errorf("images in use: %s", got)
	}
}

// TestImagesBeforePods: under disk pressure, a node removes an image that is not used before it
// evicts a pod, and pulls it again for the next pod.
func TestImagesBeforePods(t *testing.T) {
	disk := nodes.Spec{Capacity: podtest.Resources("ephemeral-storage", "10Gi"), Images: []lifecycle.Image{{Name: "spare:1", Size: 4 << 30}}}
	c := newCluster(t, Options{Nodes: 1, Node: disk})
	c.create(podtest.Pod("writer", "node-0", podtest.Annotated("ephemeral-storage", "steps 0 2m 5500Mi")))
	c.until("it runs", func() bool { return isReady(c.pod("writer")) })
	c.advance(140 * time.Second)
	if got := imagesOn(c, "node-0"); got != "nginx:latest" {
		t.Errorf("images %s", got)
	}
	if got := fmt.Sprint(reported(c, "EvictionThresholdMet"), reported(c, "Evicted")); got != "[Warning node-0: Attempting to reclaim ephemeral-storage] []" || !isReady(c.pod("writer")) {
		t.Error(got)
	}
	c.advance(6 * time.Minute)
	c.create(podtest.Pod("spare", "node-0", func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "spare:1" }))
	c.until("it runs", func() bool { return isReady(c.pod("spare")) })
	if got := c.messages("spare", "Pulling"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
