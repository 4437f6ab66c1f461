package kubeletsim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// rejection is why a kubelet does not take a pod that was bound to its node.
type rejection struct{ reason, message string }

// load is what the pods on a node ask for.
type load struct {
	pods int64
	used corev1.ResourceList
}

// admit decides whether a node takes one more pod, as upstream's kubelet does: the
// pod's node affinity must match, and the node must have what it requests. It is no
// rejection when there is no reason.
func admit(pod *corev1.Pod, object *corev1.Node, allocatable corev1.ResourceList, on load) rejection {
	if object != nil {
		match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(object)
		if err != nil || !match {
			return rejection{"NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"}
		}
	}
	if limit := allocatable[corev1.ResourcePods]; on.pods+1 > limit.Value() {
		return outOf(corev1.ResourcePods, 1, on.pods, limit.Value())
	}
	requests := requestsOf(pod)
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
			// What no kubelet knows of is for others to keep account of.
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
	return rejection{}
}

func outOf(name corev1.ResourceName, requested, used, capacity int64) rejection {
	return rejection{
		"OutOf" + string(name),
		fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, requested, used, capacity),
	}
}

func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	return resource.PodRequests(pod, resource.PodResourcesOptions{})
}

// add counts one more pod.
func (l *load) add(requests corev1.ResourceList) { l.change(requests, 1) }

// remove takes back what add counted.
func (l *load) remove(requests corev1.ResourceList) { l.change(requests, -1) }

func (l *load) change(requests corev1.ResourceList, sign int64) {
	l.pods += sign
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
