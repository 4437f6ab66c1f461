package lifecycle

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

func goldenYAML(t *testing.T, name string, object any) {
	t.Helper()
	data, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, goldenFile(name), string(data))
}

// The complete statuses that kubelets write, to be compared with a real kubelet's by eye.
func TestStatusInFull(t *testing.T) {
	pod := podtest.Pod("web", "node-0", podtest.Initially(
		corev1.Container{Name: "init", Command: []string{"true"}}, corev1.Container{Name: "side"}), func(pod *corev1.Pod) {
		pod.Generation = 4
		pod.Status.QOSClass = corev1.PodQOSBurstable
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: APITime(podtest.Epoch.Add(-time.Minute))},
			{Type: "example.com/open", Status: corev1.ConditionTrue},
		}
		app := &pod.Spec.Containers[0]
		app.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
		app.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
		app.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: "config", MountPath: "/etc/app", ReadOnly: true}}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "agent", Image: "registry.example/agent:2"})
	})
	w := newWorld(pod)
	w.step()
	w.step(Occurrence{Container: "app", ExitCode: 1}, Occurrence{Container: "app", ExitCode: 1})
	w.step(Occurrence{Container: "app", ExitCode: 1})
	goldenYAML(t, "status of a pod", w.pod.Status)
}
