package runner

import (
	"cmp"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// revisionAnnotation is the Deployment controller's, on ReplicaSets.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// choose returns the pod that the command stands for: the present one as long as it lasts, or else
// the oldest pod of the newest revision whose container runs. It is nil if there is none.
func choose(present types.UID, deployment *appsv1.Deployment, sets []*appsv1.ReplicaSet, pods []*corev1.Pod, container string) *corev1.Pod {
	revisions := map[types.UID]int64{}
	for _, set := range sets {
		if metav1.IsControlledBy(set, deployment) {
			revisions[set.UID], _ = strconv.ParseInt(set.Annotations[revisionAnnotation], 10, 64)
		}
	}
	var candidates []*corev1.Pod
	for _, pod := range pods {
		owner := metav1.GetControllerOf(pod)
		if owner == nil || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if _, ours := revisions[owner.UID]; !ours {
			continue
		}
		if pod.UID == present {
			return pod
		}
		if runOf(pod, container) != "" {
			candidates = append(candidates, pod)
		}
	}
	slices.SortFunc(candidates, func(a, b *corev1.Pod) int {
		return cmp.Or(
			-cmp.Compare(revisions[metav1.GetControllerOf(a).UID], revisions[metav1.GetControllerOf(b).UID]),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name),
		)
	})
	if len(candidates) == 0 {
		return nil
	}
	return candidates[0]
}

// runOf returns the ID of the present run of a pod's container; empty if it does not run, or is
// being stopped.
func runOf(pod *corev1.Pod, container string) string {
	if pod == nil || pod.DeletionTimestamp != nil {
		return ""
	}
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.Name == container && c.State.Running != nil {
			return c.ContainerID
		}
	}
	return ""
}

// containerOf returns the container of a pod's template with the name or, for an empty name, the
// default container; nil if there is none.
func containerOf(template *corev1.PodTemplateSpec, name string) *corev1.Container {
	if name == "" {
		name = template.Annotations["kubectl.kubernetes.io/default-container"]
	}
	for i := range template.Spec.Containers {
		if name == "" || template.Spec.Containers[i].Name == name {
			return &template.Spec.Containers[i]
		}
	}
	return nil
}
