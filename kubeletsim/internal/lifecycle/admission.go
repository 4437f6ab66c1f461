package lifecycle

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"minikcm.dev/minikcm/internal/podspec"
)

// Rejection is the reason and message with which a kubelet rejects a pod that is bound to its
// node. The zero value means that the pod is admitted.
type Rejection struct{ Reason, Message string }

// Allocated is the sum of the requests of the pods that a node has admitted.
type Allocated struct {
	Pods int64
	used corev1.ResourceList
}

// Admit decides whether a node admits one more pod, by the rules of upstream's kubelet: the
// pod's node affinity must match, its operating system be the node's, its sysctls safe ones, and the node must have the requested resources free. The
// zero Rejection admits the pod.
func Admit(pod *corev1.Pod, object *corev1.Node, allocatable corev1.ResourceList, on Allocated) Rejection {
	if object != nil {
		match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(object)
		if err != nil || !match {
			return Rejection{"NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"}
		}
	}
	if object != nil && pod.Spec.OS != nil && object.Status.NodeInfo.OperatingSystem != "" && string(pod.Spec.OS.Name) != object.Status.NodeInfo.OperatingSystem {
		return Rejection{"PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"}
	}
	if message := podspec.ForbiddenSysctl(pod); message != "" {
		return Rejection{"SysctlForbidden", message}
	}
	if limit := allocatable[corev1.ResourcePods]; on.Pods+1 > limit.Value() {
		return outOf(corev1.ResourcePods, 1, on.Pods, limit.Value())
	}
	requests := Requests(pod)
	names := make([]corev1.ResourceName, 0, len(requests))
	for name := range requests {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		request, used := requests[name], on.used[name]
		limit, known := allocatable[name]
		if !known && object != nil {
			limit, known = object.Status.Allocatable[name]
		}
		if request.IsZero() || !known {
			// Kubelets do not account for resources that the node does not advertise.
			continue
		}
		total := used.DeepCopy()
		total.Add(request)
		if total.Cmp(limit) <= 0 {
			continue
		}
		if name == corev1.ResourceCPU {
			return outOf(name, request.MilliValue(), used.MilliValue(), limit.MilliValue())
		}
		return outOf(name, request.Value(), used.Value(), limit.Value())
	}
	return Rejection{}
}

func outOf(name corev1.ResourceName, requested, used, capacity int64) Rejection {
	return Rejection{
		"OutOf" + string(name),
		fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, requested, used, capacity),
	}
}

func Requests(pod *corev1.Pod) corev1.ResourceList {
	return resource.PodRequests(pod, resource.PodResourcesOptions{})
}

// Add counts the requests of one more pod.
func (l *Allocated) Add(requests corev1.ResourceList) { l.change(requests, 1) }

// Remove undoes Add.
func (l *Allocated) Remove(requests corev1.ResourceList) { l.change(requests, -1) }

func (l *Allocated) change(requests corev1.ResourceList, sign int64) {
	l.Pods += sign
	if l.used == nil {
		l.used = corev1.ResourceList{}
	}
	for name, request := range requests {
		used := l.used[name]
		if sign > 0 {
			used.Add(request)
		} else {
			used.Sub(request)
		}
		l.used[name] = used
	}
}
