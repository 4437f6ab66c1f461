package resources

import (
	"slices"
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

// defaultPodLevelResources completes the resources of a pod that has some of its own (KEP-2837). Missing
// limits of huge pages are the sum of the containers' limits. Missing requests are the sum of the
// containers' requests or else the pod's limits. Then missing limits are the sum of the containers'
// limits, at least the request, if all containers have one. It runs after admission, which may add
// containers, and only on creation.
func defaultPodLevelResources(pod *corev1.Pod) {
	whole := pod.Spec.Resources
	if whole == nil || len(whole.Limits) == 0 && len(whole.Requests) == 0 {
		return
	}
	var opts resourcehelper.PodResourcesOptions
	asked, limited := resourcehelper.AggregateContainerRequests(pod, opts), resourcehelper.AggregateContainerLimits(pod, opts)
	for name, sum := range limited {
		if _, explicit := whole.Requests[name]; !explicit && isHugePages(name) {
			setMissing(&whole.Limits, name, sum)
		}
	}
	for name, sum := range asked {
		if !isHugePages(name) {
			setMissing(&whole.Requests, name, sum)
		}
	}
	for name, limit := range whole.Limits {
		setMissing(&whole.Requests, name, limit)
	}
	for name, request := range whole.Requests {
		if !allLimited(pod, name) {
			continue
		}
		limit := limited[name]
		if request.Cmp(limit) > 0 {
			limit = request
		}
		setMissing(&whole.Limits, name, limit)
	}
}

// setMissing sets a quantity in a list of pod-level resources that does not have it.
func setMissing(list *corev1.ResourceList, name corev1.ResourceName, quantity resource.Quantity) {
	if _, has := (*list)[name]; has || !resourcehelper.IsSupportedPodLevelResource(name) {
		return
	}
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = quantity.DeepCopy()
}

// allLimited reports whether every container of a pod has a limit of a resource.
func allLimited(pod *corev1.Pod, name corev1.ResourceName) bool {
	unlimited := func(c corev1.Container) bool {
		_, has := c.Resources.Limits[name]
		return !has
	}
	return !slices.ContainsFunc(pod.Spec.Containers, unlimited) && !slices.ContainsFunc(pod.Spec.InitContainers, unlimited)
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// keepPodLevelResources restores pod-level resources that an update omits: its client may not know them.
func keepPodLevelResources(pod, old *corev1.Pod) {
	if pod.Spec.Resources == nil {
		pod.Spec.Resources = old.Spec.Resources.DeepCopy()
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
