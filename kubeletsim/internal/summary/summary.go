package summary

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/utils/ptr"
)

// Node is a node at a time.
type Node struct {
	Name string
	// Since is when the node has started, and At when it is looked at.
	Since, At time.Time
	// CPU is the time that containers have run on all CPUs.
	CPU time.Duration
	// Capacity and Allocatable are the node's resources.
	Capacity, Allocatable corev1.ResourceList
	// ImageBytes is the size of the images on its disk.
	ImageBytes int64
	Pods       []Pod
}

// Pod is a pod on a node.
type Pod struct {
	Object     *corev1.Pod
	Containers []Container
	// Volumes has the bytes in the pod's own volumes, by name.
	Volumes map[string]int64
}

// Container is a running container.
type Container struct {
	Name  string
	Since time.Time
	// Cores is the CPU that it uses at present, and CPU the time that it has run on all CPUs.
	Cores float64
	CPU   time.Duration
	// Memory is the working set, and Disk the size of its files and logs on the node's disk, in
	// bytes.
	Memory, Disk float64
}

// Of returns the summary of a node.
func Of(n *Node) *stats.Summary {
	v := view{Node: n, taken: uint64(n.ImageBytes)}
	for i := range n.Pods {
		v.taken += n.Pods[i].disk()
	}
	s := &stats.Summary{Pods: []stats.PodStats{}}
	var cores, memory float64
	for i := range n.Pods {
		s.Pods = append(s.Pods, v.pod(&n.Pods[i]))
		c, m, _ := n.Pods[i].sums()
		cores, memory = cores+c, memory+m
	}
	slices.SortFunc(s.Pods, func(a, b stats.PodStats) int {
		return cmp.Or(strings.Compare(a.PodRef.Namespace, b.PodRef.Namespace), strings.Compare(a.PodRef.Name, b.PodRef.Name))
	})
	s.Node = stats.NodeStats{NodeName: n.Name, StartTime: metav1.NewTime(n.Since), CPU: v.cpu(cores, n.CPU), Memory: v.memory(memory), Fs: v.disk(v.taken)}
	s.Node.Runtime = &stats.RuntimeStats{ImageFs: v.disk(uint64(n.ImageBytes)), ContainerFs: v.disk(v.taken)}
	available := amount(n.Allocatable, corev1.ResourceMemory)
	available -= min(uint64(memory), available)
	s.Node.Memory.AvailableBytes = &available
	return s
}

// view is a node with the bytes that everything takes of its disk.
type view struct {
	*Node
	taken uint64
}

func (v *view) pod(pod *Pod) stats.PodStats {
	cores, memory, cpu := pod.sums()
	out := stats.PodStats{
		PodRef:     stats.PodReference{Name: pod.Object.Name, Namespace: pod.Object.Namespace, UID: string(pod.Object.UID)},
		Containers: []stats.ContainerStats{}, CPU: v.cpu(cores, cpu), Memory: v.memory(memory), EphemeralStorage: v.disk(pod.disk()),
	}
	if pod.Object.Status.StartTime != nil {
		out.StartTime = *pod.Object.Status.StartTime
	}
	for i := range pod.Containers {
		c := &pod.Containers[i]
		out.Containers = append(out.Containers, stats.ContainerStats{
			Name: c.Name, StartTime: metav1.NewTime(c.Since), CPU: v.cpu(c.Cores, c.CPU), Memory: v.memory(c.Memory), Rootfs: v.disk(uint64(c.Disk)),
		})
	}
	slices.SortFunc(out.Containers, func(a, b stats.ContainerStats) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range slices.Sorted(maps.Keys(pod.Volumes)) {
		out.VolumeStats = append(out.VolumeStats, stats.VolumeStats{Name: name, FsStats: *v.disk(uint64(pod.Volumes[name]))})
	}
	return out
}

// sums returns the total usage of the containers.
func (p *Pod) sums() (cores, memory float64, cpu time.Duration) {
	for i := range p.Containers {
		cores += p.Containers[i].Cores
		memory += p.Containers[i].Memory
		cpu += p.Containers[i].CPU
	}
	return cores, memory, cpu
}

// disk returns the bytes that the pod takes of the node's disk: all but its volumes in memory.
func (p *Pod) disk() uint64 {
	var sum uint64
	for i := range p.Containers {
		sum += uint64(p.Containers[i].Disk)
	}
	for i := range p.Object.Spec.Volumes {
		v := &p.Object.Spec.Volumes[i]
		if v.EmptyDir == nil || v.EmptyDir.Medium != corev1.StorageMediumMemory {
			sum += uint64(p.Volumes[v.Name])
		}
	}
	return sum
}

func (v *view) cpu(cores float64, total time.Duration) *stats.CPUStats {
	return &stats.CPUStats{Time: metav1.NewTime(v.At), UsageNanoCores: ptr.To(uint64(cores * 1e9)), UsageCoreNanoSeconds: ptr.To(uint64(total.Nanoseconds()))}
}

func (v *view) memory(bytes float64) *stats.MemoryStats {
	used := uint64(bytes)
	return &stats.MemoryStats{Time: metav1.NewTime(v.At), UsageBytes: &used, WorkingSetBytes: &used, RSSBytes: &used}
}

// disk returns the statistics of the node's disk, of which something takes a number of bytes.
func (v *view) disk(used uint64) *stats.FsStats {
	capacity := amount(v.Capacity, corev1.ResourceEphemeralStorage)
	return &stats.FsStats{Time: metav1.NewTime(v.At), UsedBytes: &used, CapacityBytes: &capacity, AvailableBytes: ptr.To(capacity - min(v.taken, capacity))}
}

func amount(of corev1.ResourceList, name corev1.ResourceName) uint64 {
	quantity := of[name]
	return uint64(max(0, quantity.Value()))
}

// OnlyCPUAndMemory drops everything but CPU and memory, as only_cpu_and_memory=true requests.
func OnlyCPUAndMemory(s *stats.Summary) {
	s.Node = stats.NodeStats{NodeName: s.Node.NodeName, StartTime: s.Node.StartTime, CPU: s.Node.CPU, Memory: s.Node.Memory}
	for i := range s.Pods {
		pod := &s.Pods[i]
		pod.VolumeStats, pod.EphemeralStorage = nil, nil
		for j := range pod.Containers {
			pod.Containers[j].Rootfs = nil
		}
	}
}
