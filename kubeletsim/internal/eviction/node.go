package eviction

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"minikcm.dev/minikcm/internal/usage"
)

// Node is a node's resources, its images, and its pods with their usage.
type Node struct {
	Capacity, Allocatable corev1.ResourceList
	Pods                  []Pod
	Images                []Image
}

// Pod is a pod with running containers.
type Pod struct {
	Object     *corev1.Pod
	Containers []Container
	// Evicted means that the pod is being evicted: its usage counts, but it is no candidate.
	Evicted bool
	// diskLimit is the pod's limit of ephemeral storage; nil if it has none.
	diskLimit *resource.Quantity
	volumes   []volume
}

// NewPod returns a pod without containers.
func NewPod(object *corev1.Pod, evicted bool) Pod {
	return Pod{Object: object, Evicted: evicted, diskLimit: podLimit(object)}
}

// Container is one running container.
type Container struct {
	Spec *corev1.Container
	// Since is the start of its run.
	Since time.Time
	// demands has one element for each of signals.
	demands [3]usage.Demand
	// written is the size of the files that the container has written into its root file system, in
	// bytes.
	written float64
}

// NewContainer returns a container of the pod that has run since the given time, with the usage that the model
// computes.
func NewContainer(model usage.Model, pod *corev1.Pod, c *corev1.Container, since time.Time) Container {
	made := Container{Spec: c, Since: since}
	for i, s := range signals() {
		made.demands[i], _ = model.DemandOf(pod, c, s.resource(), since)
	}
	return made
}

// NewStoringContainer returns a container of which only the stored bytes count, on a node where no
// pod declares its usage.
func NewStoringContainer(c *corev1.Container, since time.Time) Container {
	return Container{Spec: c, Since: since}
}

// uses returns the container's usage of the amount of the i-th signal.
func (c *Container) uses(i int, at time.Time) float64 {
	if i == diskSignal {
		return c.demands[i].At(at) + c.written
	}
	return c.demands[i].At(at)
}

// most returns an amount that uses never exceeds.
func (c *Container) most(i int) float64 {
	if i == diskSignal {
		return c.demands[i].Most() + c.written
	}
	return c.demands[i].Most()
}

// maxPIDs is the number of process IDs of a node.
const maxPIDs = 1 << 22

// capacity returns the node's capacity of a signal's amount.
func (n *Node) capacity(s Signal) float64 {
	if s == PIDAvailable {
		return maxPIDs
	}
	amount := n.Capacity[s.resource()]
	return amount.AsApproximateFloat64()
}

// limit returns the part of a signal's amount that all pods together can use. Upstream's kubelet
// gives them the allocatable amount and the amount that the hard threshold keeps free. The images
// of the node are on the same disk.
func (n *Node) limit(p *Policy, s Signal) float64 {
	capacity := n.capacity(s)
	limit := capacity
	if s == DiskAvailable {
		limit -= n.imageBytes()
	}
	allocatable, ok := n.Allocatable[s.resource()]
	if !ok {
		return limit
	}
	kept := 0.0
	for i := range p.Thresholds {
		if t := &p.Thresholds[i]; t.Signal == s && !t.Soft {
			kept = t.Below.of(capacity)
		}
	}
	return min(limit, allocatable.AsApproximateFloat64()+kept)
}

// used returns the usage of all pods of the amount of the i-th signal.
func (n *Node) used(i int, at time.Time) float64 {
	var sum float64
	for j := range n.Pods {
		sum += n.Pods[j].used(i, at)
	}
	return sum
}

// most returns an amount that used never exceeds.
func (n *Node) most(i int) float64 {
	var sum float64
	for j := range n.Pods {
		if i == diskSignal {
			sum += n.Pods[j].stored()
		}
		for k := range n.Pods[j].Containers {
			sum += n.Pods[j].Containers[k].most(i)
		}
	}
	return sum
}

func (p *Pod) used(i int, at time.Time) float64 {
	var sum float64
	if i == diskSignal {
		sum = p.stored()
	}
	for k := range p.Containers {
		sum += p.Containers[k].uses(i, at)
	}
	return sum
}

// requested returns the pod's request of a resource.
func (p *Pod) requested(name corev1.ResourceName) float64 {
	request := resourcehelper.PodRequests(p.Object, resourcehelper.PodResourcesOptions{})[name]
	return request.AsApproximateFloat64()
}

// The annotations by which a kubelet knows where a pod comes from.
const (
	annotationMirror = corev1.MirrorPodAnnotationKey
	annotationSource = "kubernetes.io/config.source"
	sourceAPI        = "api"
	// systemCriticalPriority is the least priority of pods that are critical for the system.
	systemCriticalPriority = 2_000_000_000
)

// Critical reports whether a kubelet never evicts the pod: a static pod, its mirror, or one with a
// priority that is critical for the system.
func Critical(pod *corev1.Pod) bool {
	if _, mirror := pod.Annotations[annotationMirror]; mirror {
		return true
	}
	if source := pod.Annotations[annotationSource]; source != "" && source != sourceAPI {
		return true
	}
	return pod.Spec.Priority != nil && *pod.Spec.Priority >= systemCriticalPriority
}

// bytes is an amount as messages have it.
func bytes(amount float64) string {
	return resource.NewQuantity(int64(amount), resource.BinarySI).String()
}

// podLimit returns the pod's limit of ephemeral storage, which is the sum of its containers'; nil
// if none has one.
func podLimit(pod *corev1.Pod) *resource.Quantity {
	limit, ok := resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{})[corev1.ResourceEphemeralStorage]
	if !ok {
		return nil
	}
	return &limit
}
