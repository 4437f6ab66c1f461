package kubeletsim

import (
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/test/golden"
)

func goldenYAML(t *testing.T, name string, object any) {
	t.Helper()
	data, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, goldenFile(name), string(data))
}

// The whole of what kubelets write, to be compared with a real one's by eye.
func TestStatusInFull(t *testing.T) {
	pod := testPod("web", "node-0", initially(
		corev1.Container{Name: "init", Command: []string{"true"}}, corev1.Container{Name: "side"}), func(pod *corev1.Pod) {
		pod.Generation = 4
		pod.Status.QOSClass = corev1.PodQOSBurstable
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: seconds(epoch.Add(-time.Minute))},
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
	w.step(fault{container: "app", exitCode: 1}, fault{container: "app", exitCode: 1})
	w.step(fault{container: "app", exitCode: 1})
	goldenYAML(t, "status of a pod", w.pod.Status)
}

func TestNodeInFull(t *testing.T) {
	opts := Options{KubeletVersion: "v1.37.2", Version: "v0.1.0"}
	spec := NodeSpec{
		Name: "node-3", Labels: map[string]string{"zone": "a"}, Annotations: map[string]string{"me": "too"},
		Taints:   []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}},
		Capacity: corev1.ResourceList{"example.com/gpu": resource.MustParse("2")},
	}
	n := newNode(spec, "172.18.0.5", netip.MustParsePrefix("10.244.3.0/24"))
	n.addImages([]string{"nginx", "registry.example/agent:2"})
	object := nodeObject(n, &opts, epoch)
	// The machine's own architecture is the node's.
	object.Status.NodeInfo.Architecture = "ARCH"
	for _, label := range []string{"beta.kubernetes.io/arch", corev1.LabelArchStable} {
		object.Labels[label] = "ARCH"
	}
	goldenYAML(t, "node", object)
}

func testNode(t *testing.T) *node {
	t.Helper()
	return testNodeNamed("node-0")
}
