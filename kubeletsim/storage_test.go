package kubeletsim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// TestStorageLimits: pods whose commands write more than the limit of a volume or a container are
// evicted at the next look of their kubelet, and others stay.
func TestStorageLimits(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	volume := func(pod *corev1.Pod) {
		limit := resource.MustParse("64Ki")
		pod.Spec.Volumes = []corev1.Volume{{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}}}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "cache", MountPath: "/cache"}}
	}
	limited := func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Limits = podtest.Resources("ephemeral-storage", "64Ki")
	}
	writes := func(file, bytes, then string) func(*corev1.Pod) {
		return podtest.Command("sh", "-c", "sleep 60; head -c "+bytes+" /dev/zero > "+file+"; "+then+" sleep 10000")
	}
	c.create(podtest.Pod("volume", "node-0", volume, writes("/cache/f", "70000", "")))
	c.create(podtest.Pod("root", "node-0", limited, writes("/f", "70000", "")))
	c.create(podtest.Pod("small", "node-0", volume, writes("/cache/f", "60000", "")))
	c.create(podtest.Pod("short", "node-0", volume, writes("/cache/f", "70000", "rm /cache/f;")))
	c.create(podtest.Pod("free", "node-0", writes("/f", "70000", "")))
	c.until("the pods are ready", func() bool { return isReady(c.pod("volume")) && isReady(c.pod("root")) && isReady(c.pod("free")) })
	c.advance(30 * time.Second)
	if got := reported(c, "Evicted"); len(got) != 0 {
		t.Fatalf("before anything is written: %q", got)
	}
	c.advance(45 * time.Second)
	want := []string{
		"Warning root: Pod ephemeral local storage usage exceeds the total limit of containers 64Ki. ",
		`Warning volume: Usage of EmptyDir volume "cache" exceeds the limit "64Ki". `,
	}
	if got := reported(c, "Evicted"); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"small", "short", "free"} {
		if pod := c.pod(name); !isReady(pod) {
			t.Errorf("%s: %+v", name, pod.Status)
		}
	}
	if status := c.pod("volume").Status; status.Phase != corev1.PodFailed || status.Reason != "Evicted" {
		t.Errorf("%+v", status)
	}
}
