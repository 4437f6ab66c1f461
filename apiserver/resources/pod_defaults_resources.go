package resources

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// requestsFromLimits asks for what a container is limited to, where it asks for
// nothing itself.
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

// defaultPodLevelResources completes the requests of a pod that has limits as a
// whole (KEP-2837): with what its containers ask for together, or else with the
// limits.
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

// roundUp raises quantities to whole thousandths, the finest that is kept.
func roundUp(list corev1.ResourceList) {
	for name, quantity := range list {
		if !quantity.RoundUp(resource.Milli) {
			list[name] = quantity
		}
	}
}
