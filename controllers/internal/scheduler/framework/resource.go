package framework

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// SameRequests reports whether both states of a pod have the same requests. It is cheap for
// status updates, which most updates are.
func SameRequests(old, pod *corev1.Pod) bool {
	if old.Generation != pod.Generation || old.Generation == 0 && !equality.Semantic.DeepEqual(old.Spec.Containers, pod.Spec.Containers) {
		return false
	}
	return isPlain(old) && isPlain(pod) || podRequests(old).Equal(podRequests(pod))
}

// kube-scheduler's defaults for containers without requests. Only scores use them, so that
// such pods are spread too.
const (
	defaultMilliCPU = 100
	defaultMemory   = 200 << 20
)

// Resource is an amount of the resources that pods request and nodes have: millicores, bytes,
// and counts of everything else. Values are immutable: methods never write to a map of the
// receiver or the argument.
type Resource struct {
	MilliCPU         int64
	Memory           int64
	EphemeralStorage int64
	// Scalar has the extended resources and huge pages; nil: none.
	Scalar map[corev1.ResourceName]int64
}

// NewResource converts a resource list. It leaves out the number of pods.
func NewResource(list corev1.ResourceList) Resource {
	var r Resource
	for name, quantity := range list {
		switch name {
		case corev1.ResourceCPU:
			r.MilliCPU = quantity.MilliValue()
		case corev1.ResourceMemory:
			r.Memory = quantity.Value()
		case corev1.ResourceEphemeralStorage:
			r.EphemeralStorage = quantity.Value()
		case corev1.ResourcePods:
		default:
			if r.Scalar == nil {
				r.Scalar = map[corev1.ResourceName]int64{}
			}
			r.Scalar[name] = quantity.Value()
		}
	}
	return r
}

// Add returns the sum of the two.
func (r Resource) Add(o Resource) Resource { return r.plus(o, 1) }

// Sub returns r minus o.
func (r Resource) Sub(o Resource) Resource { return r.plus(o, -1) }

func (r Resource) plus(o Resource, sign int64) Resource {
	r.MilliCPU += sign * o.MilliCPU
	r.Memory += sign * o.Memory
	r.EphemeralStorage += sign * o.EphemeralStorage
	if len(o.Scalar) > 0 {
		scalar := make(map[corev1.ResourceName]int64, len(r.Scalar)+len(o.Scalar))
		maps.Copy(scalar, r.Scalar)
		for name, n := range o.Scalar {
			scalar[name] += sign * n
			if scalar[name] == 0 {
				delete(scalar, name)
			}
		}
		r.Scalar = scalar
	}
	return r
}

// Without returns the amounts without the extended resources that ignored approves.
func (r Resource) Without(ignored func(name corev1.ResourceName) bool) Resource {
	left := maps.Clone(r.Scalar)
	maps.DeleteFunc(left, func(name corev1.ResourceName, _ int64) bool { return ignored(name) })
	r.Scalar = left
	return r
}

// Has reports whether the amount of an extended resource is not zero.
func (r Resource) Has(name corev1.ResourceName) bool { return r.Scalar[name] != 0 }

// Equal reports whether both amounts are equal.
func (r Resource) Equal(o Resource) bool {
	return r.MilliCPU == o.MilliCPU && r.Memory == o.Memory && r.EphemeralStorage == o.EphemeralStorage &&
		maps.Equal(r.Scalar, o.Scalar)
}

// IsZero reports whether all amounts are zero.
func (r Resource) IsZero() bool {
	return r.MilliCPU == 0 && r.Memory == 0 && r.EphemeralStorage == 0 && len(r.Scalar) == 0
}

// podRequests returns the resources that a pod occupies on its node: containers, sidecars and
// init containers, pod-level requests, overhead, and the resources that a resize in progress still
// holds.
func podRequests(pod *corev1.Pod) Resource {
	if isPlain(pod) {
		var sum Resource
		for i := range pod.Spec.Containers {
			sum = sum.Add(NewResource(pod.Spec.Containers[i].Resources.Requests))
		}
		return sum
	}
	return NewResource(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}))
}

// scoredRequests returns the requests of a pod on a node, with the defaults for containers without
// requests. If the pod has requests of its own, a default stands only for a resource that neither it
// nor a container requests.
func scoredRequests(pod *corev1.Pod) (milliCPU, memory int64) {
	if isPlain(pod) {
		for i := range pod.Spec.Containers {
			list := pod.Spec.Containers[i].Resources.Requests
			milliCPU += valueOr(list, corev1.ResourceCPU, defaultMilliCPU, (*resource.Quantity).MilliValue)
			memory += valueOr(list, corev1.ResourceMemory, defaultMemory, (*resource.Quantity).Value)
		}
		return milliCPU, memory
	}
	options := resourcehelper.PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true}
	missing := defaultRequests()
	if resourcehelper.IsPodLevelRequestsSet(pod) {
		for name := range resourcehelper.PodRequests(pod, options) {
			delete(missing, name)
		}
	}
	options.NonMissingContainerRequests = missing
	list := resourcehelper.PodRequests(pod, options)
	return list.Cpu().MilliValue(), list.Memory().Value()
}

// askedRequests returns the requests of a pod without a node, as kube-scheduler 1.37 scores them: with
// the defaults, and without the requests of the pod level.
func askedRequests(pod *corev1.Pod) (milliCPU, memory int64) {
	if isPlain(pod) {
		return scoredRequests(pod)
	}
	list := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{SkipPodLevelResources: true, NonMissingContainerRequests: defaultRequests()})
	return list.Cpu().MilliValue(), list.Memory().Value()
}

func defaultRequests() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(defaultMilliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(defaultMemory, resource.BinarySI),
	}
}

func valueOr(list corev1.ResourceList, name corev1.ResourceName, missing int64, value func(*resource.Quantity) int64) int64 {
	if quantity, ok := list[name]; ok {
		return value(&quantity)
	}
	return missing
}

// isPlain reports whether a pod's requests are the sum of the requests of its containers. For
// other pods k8s.io/component-helpers computes them, which allocates several maps per pod;
// nearly all pods are plain.
func isPlain(pod *corev1.Pod) bool {
	if len(pod.Spec.InitContainers) > 0 || pod.Spec.Resources != nil || pod.Spec.Overhead != nil ||
		pod.Status.Resources != nil || pod.Status.AllocatedResources != nil {
		return false
	}
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.Resources != nil || c.AllocatedResources != nil {
			return false
		}
	}
	return true
}
