package usage

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"minikcm.dev/minikcm/kubeletsim/podspec"
)

// The annotations that tell what a pod uses, as loads (see Load). Of a pod, each
// holds for all its containers that are no init containers, or, with a dot and a
// container's name appended, for that one.
const (
	// AnnotationCPU and AnnotationMemory are how much a container uses.
	AnnotationCPU    = "minikcm.dev/cpu"
	AnnotationMemory = "minikcm.dev/memory"
	// AnnotationMetric and a metric's name, as in minikcm.dev/metric-queue_length, is
	// what a custom metric of the object says: of a pod, or of an object of any kind.
	AnnotationMetric = "minikcm.dev/metric-"
	// AnnotationLoad and "cpu", "memory" or a metric's name, as in
	// minikcm.dev/load-cpu, stands at a Service, Deployment or StatefulSet and is
	// divided evenly among its pods that are ready.
	AnnotationLoad = "minikcm.dev/load-"
)

// A ConfigMap with the label LabelExternalMetric is one series of the external metric
// that the label names, in its namespace; its other labels are those of the series, and
// what it holds as ExternalValue is the series' value, a load.
const (
	LabelExternalMetric = "minikcm.dev/external-metric"
	ExternalValue       = "value"
)

// Window is the time between two samples of what is used, and what one covers,
// as of a metrics-server by default.
const Window = 15 * time.Second

// Of a container that says nothing and whose pods share no load, it is known only what
// it asked for: it uses half of that, and if it asked for nothing, next to nothing.
const (
	unknownShare     = 0.5
	idleCPU          = 0.001
	idleMemory       = 8 << 20
	defaultContainer = "kubectl.kubernetes.io/default-container"
)

// Model works out what the simulated pods use. It is a pure function of the objects of
// the API, the time and the seed: nothing runs, and nothing is kept, for it.
type Model struct {
	// Seed is what the noise of loads follows from.
	Seed uint64
}

// SampleTime is when the newest sample was taken, if it is now.
func SampleTime(now time.Time) time.Time { return now.Truncate(Window) }

// Container is what a container uses.
type Container struct {
	Name string
	// CPU is in cores, and Memory, the working set, in bytes.
	CPU, Memory resource.Quantity
}

// Containers is what the running containers of a pod used in the window before at, a
// SampleTime. shares may be nil. It is false if that cannot be known: none is running,
// or one has not been running for the whole window yet.
func (u Model) Containers(pod *corev1.Pod, shares *Shares, at time.Time) ([]Container, bool) {
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
		if !measured {
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
		if !measured {
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

// loadedContainer is the one that does what is asked of the pod.
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

// runningSince is since when a container runs; the zero time if it does not. measured
// is whether that is a whole window.
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

// container is what a container that began at since uses. A load that its pods share
// comes on top of its own; without any of them its requests say.
func (u Model) container(pod *corev1.Pod, c *corev1.Container, shares *Shares, since, at time.Time) Container {
	cpu := u.used(pod, c, corev1.ResourceCPU, shares, since, at)
	if limit, ok := c.Resources.Limits[corev1.ResourceCPU]; ok {
		cpu = min(cpu, limit.AsApproximateFloat64()) // it is throttled
	}
	memory := u.used(pod, c, corev1.ResourceMemory, shares, since, at)
	if limit, ok := c.Resources.Limits[corev1.ResourceMemory]; ok {
		memory = min(memory, limit.AsApproximateFloat64()) // it is killed before it has more
	}
	return Container{
		Name:   c.Name,
		CPU:    *resource.NewScaledQuantity(round(cpu*1e9), resource.Nano),
		Memory: *resource.NewQuantity(round(memory/1024)*1024, resource.BinarySI),
	}
}

func (u Model) used(pod *corev1.Pod, c *corev1.Container, name corev1.ResourceName, shares *Shares, since, at time.Time) float64 {
	var value float64
	said := false
	if load, ok := loadOf(pod, c, name); ok {
		value, said = load.sample(at, since, u.Seed, string(pod.UID), c.Name, string(name)), true
	}
	if share, ok := shares.of(pod, string(name)); ok {
		value, said = value+share, true
	}
	if !said {
		return byDefault(c, name)
	}
	return max(value, 0)
}

// loadOf is what the pod's annotations say of a container; false if nothing, or nothing
// that can be understood.
func loadOf(pod *corev1.Pod, c *corev1.Container, name corev1.ResourceName) (Load, bool) {
	if len(pod.Annotations) == 0 {
		return Load{}, false
	}
	key := AnnotationCPU
	if name == corev1.ResourceMemory {
		key = AnnotationMemory
	}
	text, ok := podspec.Annotations{Pod: pod, Container: c.Name}.Get(key)
	if !ok {
		return Load{}, false
	}
	load, err := ParseLoad(text)
	return load, err == nil
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

// round is the nearest whole number that an int64 holds.
func round(value float64) int64 {
	return int64(math.Round(min(max(value, -1<<62), 1<<62)))
}

// Metric is what a custom metric of an object says at a time, in its unit. labels of
// metrics there are none. It is false if nothing is known of it.
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

// InvalidMetrics says which metrics of an object are not understood, by name.
func InvalidMetrics(annotations map[string]string) []string {
	var bad []string
	for key, text := range annotations {
		if strings.HasPrefix(key, AnnotationMetric) {
			if _, err := ParseLoad(text); err != nil {
				bad = append(bad, fmt.Sprintf("annotation %s is ignored: %v", key, err))
			}
		}
	}
	slices.Sort(bad)
	return bad
}

// External is what an external metric says at a time, of the series that a ConfigMap
// with LabelExternalMetric stands for. The error says that its value is no load.
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

// OfNode adds up what the pods of a node use.
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

// MetricNames are the metrics that an object tells of, sorted: its own, those that its
// pods share, and the external one that it is a series of, if any.
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
