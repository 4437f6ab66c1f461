package resources

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// requestsFromLimits sets missing requests of a container to its limits.
func requestsFromLimits(r *corev1.ResourceRequirements) {
	if len(r.Limits) == 0 {
		return
	}
	if r.Requests == nil {
		r.Requests = make(corev1.ResourceList, len(r.Limits))
	}
	for name, limit := range r.Limits {
		if _, asked := r.Requests[name]; !asked {
			r.Requests[name] = limit.DeepCopy()
		}
	}
}

// defaultPodLevelResources sets the missing requests of a pod with pod-level limits
// (KEP-2837): to the sum of its containers' requests, or else to the limits.
func defaultPodLevelResources(pod *corev1.Pod) {
	whole := pod.Spec.Resources
	if whole == nil || len(whole.Limits) == 0 {
		return
	}
	requests := whole.Requests
	if requests == nil {
		requests = corev1.ResourceList{}
	}
	for name, sum := range resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{}) {
		overcommits := !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
		if _, asked := requests[name]; !asked && overcommits && resourcehelper.IsSupportedPodLevelResource(name) {
			requests[name] = sum.DeepCopy()
		}
	}
	for name, limit := range whole.Limits {
		if _, asked := requests[name]; !asked && resourcehelper.IsSupportedPodLevelResource(name) {
			requests[name] = limit.DeepCopy()
		}
	}
	if len(requests) > 0 {
		whole.Requests = requests
	}
}

// roundUp rounds quantities up to whole thousandths, the finest resolution that is
// kept.
func roundUp(list corev1.ResourceList) {
	for name, quantity := range list {
		if !quantity.RoundUp(resource.Milli) {
			list[name] = quantity
		}
	}
}
