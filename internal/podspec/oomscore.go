package podspec

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// The oom_score_adj of containers that are to be killed last and first.
const (
	guaranteedAdjustment = -997
	bestEffortAdjustment = 1000
	// nodeCriticalPriority is the value of the PriorityClass system-node-critical: a node does not
	// work without such pods.
	nodeCriticalPriority = 2_000_001_000
)

// OOMScoreAdjustment returns the oom_score_adj of a container's processes on a node with so many bytes of memory
// (https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#node-out-of-memory-behavior): a
// burstable container is the safer the more of the memory it requests. It gets an equal share of what the pod requests
// beyond its containers (KEP-2837), and a sidecar is as safe as the least safe of the other containers.
func OOMScoreAdjustment(pod *corev1.Pod, c *corev1.Container, memory int64) int {
	switch {
	case pod.Spec.Priority != nil && *pod.Spec.Priority >= nodeCriticalPriority, pod.Status.QOSClass == corev1.PodQOSGuaranteed:
		return guaranteedAdjustment
	case BestEffort(pod):
		return bestEffortAdjustment
	}
	request := memoryRequest(c)
	if isSidecar(pod, c) && len(pod.Spec.Containers) > 0 {
		least := slices.MinFunc(pod.Spec.Containers, func(a, b corev1.Container) int {
			return cmp.Compare(memoryRequest(&a), memoryRequest(&b))
		})
		request = max(request, memoryRequest(&least))
	}
	request += podShare(pod)
	adjustment := bestEffortAdjustment - bestEffortAdjustment*request/max(memory, 1)
	return int(min(max(adjustment, bestEffortAdjustment+guaranteedAdjustment), bestEffortAdjustment-1))
}

func memoryRequest(c *corev1.Container) int64 { return c.Resources.Requests.Memory().Value() }

func isSidecar(pod *corev1.Pod, c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways &&
		slices.ContainsFunc(pod.Spec.InitContainers, func(other corev1.Container) bool { return other.Name == c.Name })
}

// podShare returns the share of each container in the memory that the pod requests beyond its containers.
func podShare(pod *corev1.Pod) int64 {
	if pod.Spec.Resources == nil {
		return 0
	}
	request, requested := pod.Spec.Resources.Requests[corev1.ResourceMemory]
	if !requested {
		return 0
	}
	left, containers := request.Value(), int64(0)
	for i := range pod.Spec.Containers {
		left -= memoryRequest(&pod.Spec.Containers[i])
		containers++
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; isSidecar(pod, c) {
			left -= memoryRequest(c)
			containers++
		}
	}
	return max(left, 0) / max(containers, 1)
}

// BestEffort reports whether the pod has neither requests nor limits of CPU and memory.
func BestEffort(pod *corev1.Pod) bool {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass == corev1.PodQOSBestEffort
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, amounts := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
			if !amounts.Cpu().IsZero() || !amounts.Memory().IsZero() {
				return false
			}
		}
	}
	return true
}
