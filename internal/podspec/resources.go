package podspec

import (
	corev1 "k8s.io/api/core/v1"
)

// ActualResources returns the resources of a container in the pod's status. They differ from the
// spec's until a resize has been applied (KEP-1287).
func ActualResources(pod *corev1.Pod, c *corev1.Container) corev1.ResourceRequirements {
	for _, all := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range all {
			if all[i].Name == c.Name && all[i].Resources != nil {
				return *all[i].Resources
			}
		}
	}
	return c.Resources
}
