package podtest

import (
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func Annotated(pairs ...string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		for i := 0; i < len(pairs); i += 2 {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "minikcm.dev/"+pairs[i], pairs[i+1])
		}
	}
}

func Policy(p corev1.RestartPolicy) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.RestartPolicy = p }
}

func Command(words ...string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Containers[0].Command = words }
}

func OfJob(pod *corev1.Pod) {
	controls := true
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", Controller: &controls}}
}

// Initially puts init containers with the commands before the pod's own; a name that
// begins with "side" is a sidecar.
func Initially(containers ...corev1.Container) func(*corev1.Pod) {
	always := corev1.ContainerRestartPolicyAlways
	return func(pod *corev1.Pod) {
		for _, c := range containers {
			c.Image = "nginx"
			if strings.HasPrefix(c.Name, "side") {
				c.RestartPolicy = &always
			}
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		}
	}
}

func Pod(name, node string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Generation: 1},
		Spec: corev1.PodSpec{
			NodeName:      node,
			RestartPolicy: corev1.RestartPolicyAlways,
			Containers:    []corev1.Container{{Name: "app", Image: "nginx", ImagePullPolicy: corev1.PullIfNotPresent}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

var Epoch = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func Resources(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// Address returns a pool for lifecycle.Input.TakeAddress with only one address.
func Address(text string) func() (first, second netip.Addr) {
	return func() (first, second netip.Addr) { return netip.MustParseAddr(text), netip.Addr{} }
}
