package plugins

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// extendedRequests returns the requests of a claim for resources of a pod, sorted by name, and which of them
// each container uses. Each container has a request of its own, with one exception: an init container that
// ends before others start uses their devices, and adds a request only for the devices that it needs beyond
// these. Such requests of several init containers are one, the greatest.
func extendedRequests(pod *corev1.Pod, names []corev1.ResourceName, classes Backed) ([]resourcev1.DeviceRequest, []corev1.ContainerExtendedResourceRequest) {
	var requests []resourcev1.DeviceRequest
	var mappings []corev1.ContainerExtendedResourceRequest
	for _, name := range names {
		r := newContainerRequests(pod, name, classes[name])
		requests = append(requests, r.all()...)
		mappings = append(append(mappings, r.lasting...), r.passing...)
	}
	slices.SortFunc(requests, func(a, b resourcev1.DeviceRequest) int { return cmp.Compare(a.Name, b.Name) })
	return requests, mappings
}

// containerRequests are the requests of a pod's containers for one resource.
type containerRequests struct {
	name  corev1.ResourceName
	class string
	// own has the requests of the containers that run on, by the index of the container; nil: it has none.
	own []*resourcev1.DeviceRequest
	// shared is the request that the init containers that end have in common; nil: they need none.
	shared *resourcev1.DeviceRequest
	// lasting are the mappings of containers that run on, passing the mappings of the others.
	lasting, passing []corev1.ContainerExtendedResourceRequest
}

func newContainerRequests(pod *corev1.Pod, name corev1.ResourceName, class string) *containerRequests {
	containers := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	ends := func(i int) bool {
		return i < len(pod.Spec.InitContainers) && (containers[i].RestartPolicy == nil || *containers[i].RestartPolicy != corev1.ContainerRestartPolicyAlways)
	}
	r := &containerRequests{name: name, class: class, own: make([]*resourcev1.DeviceRequest, len(containers))}
	for i := range containers {
		if !ends(i) {
			r.own[i] = r.request(i, &containers[i], amountOf(&containers[i], name))
			r.lasting = r.mapped(r.lasting, &containers[i], r.own[i])
		}
	}
	smaller := map[string]bool{} // the names of the requests that shared stands for
	for i := range containers {
		if ends(i) {
			r.addPassing(i, &containers[i], smaller)
		}
	}
	for i := range r.passing {
		if smaller[r.passing[i].RequestName] {
			r.passing[i].RequestName = r.shared.Name
		}
	}
	return r
}

// addPassing adds the mappings of an init container that ends, and the request for the devices that it
// needs beyond the ones of the containers that start later.
func (r *containerRequests) addPassing(index int, c *corev1.Container, smaller map[string]bool) {
	missing := amountOf(c, r.name)
	for _, later := range r.own[index:] {
		if later != nil && missing > 0 {
			r.passing = r.mapped(r.passing, c, later)
			missing -= later.Exactly.Count
		}
	}
	own := r.request(index, c, missing)
	if own == nil {
		return
	}
	r.passing = r.mapped(r.passing, c, own)
	smaller[own.Name] = true
	if r.shared == nil || r.shared.Exactly.Count < own.Exactly.Count {
		r.shared = own
	}
}

func (r *containerRequests) all() []resourcev1.DeviceRequest {
	var all []resourcev1.DeviceRequest
	for _, request := range append(slices.Clone(r.own), r.shared) {
		if request != nil {
			all = append(all, *request)
		}
	}
	return all
}

// request returns the request of a container for a number of devices; nil: it needs none. Its name has the
// index of the resource among all that the container requests.
func (r *containerRequests) request(index int, c *corev1.Container, count int64) *resourcev1.DeviceRequest {
	if count <= 0 {
		return nil
	}
	at := slices.Index(slices.Sorted(maps.Keys(c.Resources.Requests)), r.name)
	return &resourcev1.DeviceRequest{
		Name: fmt.Sprintf("container-%d-request-%d", index, at),
		Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: r.class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count,
		},
	}
}

func (r *containerRequests) mapped(mappings []corev1.ContainerExtendedResourceRequest, c *corev1.Container, request *resourcev1.DeviceRequest) []corev1.ContainerExtendedResourceRequest {
	if request == nil {
		return mappings
	}
	return append(mappings, corev1.ContainerExtendedResourceRequest{ContainerName: c.Name, ResourceName: string(r.name), RequestName: request.Name})
}

// amountOf returns how many devices a container requests; 0 if that is not a whole number.
func amountOf(c *corev1.Container, name corev1.ResourceName) int64 {
	quantity := c.Resources.Requests[name]
	amount, _ := quantity.AsInt64()
	return amount
}
