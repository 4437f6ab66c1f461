package usage

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"minikcm.dev/minikcm/internal/podspec"
)

// The annotations that declare usage as a Load. On a pod, each applies to all app containers
// or, with a dot and a container's name appended, to that container.
const (
	// AnnotationCPU and AnnotationMemory are the usage of a container, in cores and bytes.
	AnnotationCPU    = "minikcm.dev/cpu"
	AnnotationMemory = "minikcm.dev/memory"
	// AnnotationEphemeralStorage is the size of a container's files and logs on its node's disk, in
	// bytes, and AnnotationPIDs the number of its processes.
	AnnotationEphemeralStorage = "minikcm.dev/ephemeral-storage"
	AnnotationPIDs             = "minikcm.dev/pids"
	// AnnotationMetric plus a metric's name, as in minikcm.dev/metric-queue_length, is the
	// value of a custom metric of a pod or any other object.
	AnnotationMetric = "minikcm.dev/metric-"
	// AnnotationLoad plus "cpu", "memory" or a metric's name, as in minikcm.dev/load-cpu, on a
	// Service, Deployment or StatefulSet, is divided evenly among its ready pods.
	AnnotationLoad = "minikcm.dev/load-"
)

// A ConfigMap with the label LabelExternalMetric is one series of the external metric that the
// label names, in the ConfigMap's namespace. Its other labels are the labels of the series, and
// its key ExternalValue holds the value, a Load.
const (
	LabelExternalMetric = "minikcm.dev/external-metric"
	ExternalValue       = "value"
)

// Window is the time between two samples, and the time that a sample covers: metrics-server's
// default.
const Window = 15 * time.Second

// A container without a load of its own or a shared one uses half of its requests, or close to
// nothing without requests.
const (
	unknownShare     = 0.5
	idleCPU          = 0.001
	idleMemory       = 8 << 20
	defaultContainer = "kubectl.kubernetes.io/default-container"
)

// Model computes the usage of simulated pods. It is a pure function of API objects, time and
// seed.
type Model struct {
	// Seed determines the noise of loads.
	Seed uint64
	// Rules apply to containers without an annotation for a resource; nil: there are none.
	Rules Rules
	// Node returns the node of a name for the rules; nil if it is unknown.
	Node func(name string) *corev1.Node
}

// SampleTime returns the time of the newest sample at the time now.
func SampleTime(now time.Time) time.Time { return now.Truncate(Window) }

// Container is the usage of one container.
type Container struct {
	Name string
	// CPU is in cores; Memory is the working set in bytes.
	CPU, Memory resource.Quantity
	// Others are the amounts of other resources for which there are rules.
	Others map[corev1.ResourceName]float64
	// Since is the start of its run.
	Since time.Time
	// cpu is the demand that ShareCPU computes CPU from.
	cpu cpuDemand
}

// Containers returns the usage of a pod's running containers in the window before at, a
// SampleTime, on a node with idle CPU (see ShareCPU). shares may be nil. It returns false if no
// container runs, or one has run for less than a window.
func (u Model) Containers(pod *corev1.Pod, shares *Shares, at time.Time) ([]Container, bool) {
	return u.containers(pod, shares, at, true)
}

// Running is Containers without the condition that a container has run for a window, so that it
// has the containers that run already in the middle of one.
func (u Model) Running(pod *corev1.Pod, shares *Shares, at time.Time) []Container {
	all, _ := u.containers(pod, shares, at, false)
	return slices.DeleteFunc(all, func(c Container) bool { return c.Since.After(at) })
}

// containers returns the usage of a pod's running containers. With whole, it returns none if one of
// them has run for less than a window.
func (u Model) containers(pod *corev1.Pod, shares *Shares, at time.Time, whole bool) ([]Container, bool) {
	if pod.Status.Phase != corev1.PodRunning {
		return nil, false
	}
	used := make([]Container, 0, len(pod.Spec.Containers))
	loaded := loadedContainer(pod)
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		since, measured := runningSince(pod.Status.InitContainerStatuses, c.Name, at)
		if since.IsZero() {
			continue
		}
		if !measured && whole {
			return nil, false
		}
		used = append(used, u.container(pod, c, nil, since, at))
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		since, measured := runningSince(pod.Status.ContainerStatuses, c.Name, at)
		if since.IsZero() {
			continue
		}
		if !measured && whole {
			return nil, false
		}
		own := shares
		if c.Name != loaded {
			own = nil
		}
		used = append(used, u.container(pod, c, own, since, at))
	}
	return used, len(used) > 0
}

// loadedContainer returns the container that takes the pod's share of loads: its default
// container, or the first.
func loadedContainer(pod *corev1.Pod) string {
	if name := pod.Annotations[defaultContainer]; name != "" {
		for i := range pod.Spec.Containers {
			if pod.Spec.Containers[i].Name == name {
				return name
			}
		}
	}
	if len(pod.Spec.Containers) == 0 {
		return ""
	}
	return pod.Spec.Containers[0].Name
}

// runningSince returns the start of a container's run, or the zero time if it does not run.
// measured reports whether the run is at least a window old.
func runningSince(statuses []corev1.ContainerStatus, name string, at time.Time) (since time.Time, measured bool) {
	for i := range statuses {
		if s := &statuses[i]; s.Name == name {
			if s.State.Running == nil {
				return time.Time{}, false
			}
			since = s.State.Running.StartedAt.Time
			return since, !since.Add(Window).After(at)
		}
	}
	return time.Time{}, false
}

// container returns the usage of a container that started at since: its own load or the rule's, plus
// its share of a shared load. Without any load, it is the default.
func (u Model) container(pod *corev1.Pod, c *corev1.Container, shares *Shares, since, at time.Time) Container {
	asks, declared := u.used(pod, c, corev1.ResourceCPU, shares, since, at)
	cpu := asks
	if limit, ok := c.Resources.Limits[corev1.ResourceCPU]; ok {
		cpu = min(cpu, limit.AsApproximateFloat64()) // it is throttled
	}
	memory, _ := u.used(pod, c, corev1.ResourceMemory, shares, since, at)
	if limit, ok := c.Resources.Limits[corev1.ResourceMemory]; ok {
		memory = min(memory, limit.AsApproximateFloat64()) // it is killed before it has more
	}
	return Container{
		Name:   c.Name,
		CPU:    *resource.NewScaledQuantity(round(cpu*1e9), resource.Nano),
		Memory: *resource.NewQuantity(round(memory/1024)*1024, resource.BinarySI),
		Others: u.others(pod, c, at),
		Since:  since,
		cpu:    cpuDemandOf(c, asks, cpu, declared),
	}
}

// used returns the amount of a resource that a container uses, and whether a load or a rule declares it.
func (u Model) used(pod *corev1.Pod, c *corev1.Container, name corev1.ResourceName, shares *Shares, since, at time.Time) (value float64, said bool) {
	if load, ok := loadOf(pod, c, name); ok {
		value, said = load.sample(at, since, u.Seed, string(pod.UID), c.Name, string(name)), true
	} else {
		value, said = u.ruled(pod, c, name, at)
	}
	if share, ok := shares.of(pod, string(name)); ok {
		value, said = value+share, true
	}
	if !said {
		return byDefault(c, name), false
	}
	return max(value, 0), true
}

// loadOf returns a container's own load from the pod's annotations; false if there is none or
// it is invalid.
func loadOf(pod *corev1.Pod, c *corev1.Container, name corev1.ResourceName) (Load, bool) {
	if len(pod.Annotations) == 0 {
		return Load{}, false
	}
	text, ok := podspec.Annotations{Pod: pod, Container: c.Name}.Get(annotationOf(name))
	if !ok {
		return Load{}, false
	}
	load, err := ParseLoad(text)
	return load, err == nil
}

// annotationOf is the annotation that declares the use of a resource.
func annotationOf(name corev1.ResourceName) string {
	switch name {
	case corev1.ResourceMemory:
		return AnnotationMemory
	case corev1.ResourceEphemeralStorage:
		return AnnotationEphemeralStorage
	case ResourcePIDs:
		return AnnotationPIDs
	}
	return AnnotationCPU
}

func byDefault(c *corev1.Container, name corev1.ResourceName) float64 {
	if request, ok := c.Resources.Requests[name]; ok && !request.IsZero() {
		return request.AsApproximateFloat64() * unknownShare
	}
	if name == corev1.ResourceMemory {
		return idleMemory
	}
	return idleCPU
}

// round returns the nearest whole number, clamped to what an int64 holds.
func round(value float64) int64 {
	return int64(math.Round(min(max(value, -1<<62), 1<<62)))
}

// Metric returns the value of an object's custom metric at a time; false if there is none.
// Metric labels are not simulated.
func (u Model) Metric(o Object, name string, shares *Shares, at time.Time) (resource.Quantity, bool) {
	var value float64
	said := false
	if text, ok := o.GetAnnotations()[AnnotationMetric+name]; ok {
		if load, err := ParseLoad(text); err == nil {
			value, said = load.sample(at, o.GetCreationTimestamp().Time, u.Seed, string(o.GetUID()), name), true
		}
	}
	if pod, ok := o.(*corev1.Pod); ok {
		if share, shared := shares.of(pod, name); shared {
			value, said = value+share, true
		}
	}
	return milli(value), said
}

// External returns the value at a time of the external metric series that a ConfigMap with
// LabelExternalMetric declares. It fails if the value is not a Load.
func (u Model) External(series *corev1.ConfigMap, at time.Time) (resource.Quantity, error) {
	load, err := ParseLoad(series.Data[ExternalValue])
	if err != nil {
		return resource.Quantity{}, fmt.Errorf("ConfigMap %s: %s: %w", series.Name, ExternalValue, err)
	}
	return milli(load.sample(at, series.CreationTimestamp.Time, u.Seed, string(series.UID))), nil
}

func milli(value float64) resource.Quantity {
	return *resource.NewMilliQuantity(round(value*1000), resource.DecimalSI)
}

// OfNode returns the summed usage of a node's pods.
func OfNode(pods [][]Container) (cpu, memory resource.Quantity) {
	cpu, memory = *resource.NewScaledQuantity(0, resource.Nano), *resource.NewQuantity(0, resource.BinarySI)
	for _, containers := range pods {
		for i := range containers {
			cpu.Add(containers[i].CPU)
			memory.Add(containers[i].Memory)
		}
	}
	return cpu, memory
}

// MetricNames returns the metrics that an object declares, sorted: its own, those shared by its
// pods, and the external one that it is a series of, if any.
func MetricNames(o Object) (own, shared []string, external string) {
	for key := range o.GetAnnotations() {
		if name, found := strings.CutPrefix(key, AnnotationMetric); found {
			own = append(own, name)
		}
		if name, found := strings.CutPrefix(key, AnnotationLoad); found && name != string(corev1.ResourceCPU) && name != string(corev1.ResourceMemory) {
			shared = append(shared, name)
		}
	}
	slices.Sort(own)
	slices.Sort(shared)
	if _, ok := o.(*corev1.ConfigMap); ok {
		external = o.GetLabels()[LabelExternalMetric]
	}
	return own, shared, external
}
