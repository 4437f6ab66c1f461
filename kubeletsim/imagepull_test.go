package kubeletsim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
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

// TestImageNames: a container whose image's name cannot be read waits, in every kind of container, until the name is mended.
func TestImageNames(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.create(podtest.Pod("web", "node-0", func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "shop/web:${TAG}" }))
	c.create(podtest.Pod("initial", "node-0", func(pod *corev1.Pod) {
		pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "Shop"}}
	}))
	c.until("web waits", func() bool {
		return c.pod("web").Status.StartTime != nil && stateOf(c.pod("web")) == "waiting InvalidImageName"
	})
	c.until("initial waits", func() bool {
		status := c.pod("initial").Status.InitContainerStatuses
		return len(status) == 1 && status[0].State.Waiting != nil && status[0].State.Waiting.Reason == "InvalidImageName"
	})
	c.advance(time.Hour)
	pod := c.pod("web")
	const message = `Failed to apply default image tag "shop/web:${TAG}": couldn't parse image name "shop/web:${TAG}": invalid reference format`
	if got := pod.Status.ContainerStatuses[0].State.Waiting; pod.Status.Phase != corev1.PodPending || got == nil || got.Message != message {
		t.Errorf("it is %s: %v", pod.Status.Phase, got)
	}
	for reason, want := range map[string]string{"InspectFailed": message, "Failed": "Error: InvalidImageName"} {
		if got := c.messages("web", reason); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q", reason, got)
		}
	}
	pod.Spec.Containers[0].Image = "shop/web:1"
	if _, err := c.client.CoreV1().Pods("default").Update(c.ctx, pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until("it is ready", func() bool { return isReady(c.pod("web")) })
}
