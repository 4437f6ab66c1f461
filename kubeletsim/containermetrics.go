package kubeletsim

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/usage"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// containerMetric is one of the metrics that cAdvisor has of containers in upstream's kubelet, with its
// name, help and type.
type containerMetric struct {
	name, kind, help string
	// value returns the value for a container; false if the container has none.
	value func(c *meteredContainer) (float64, bool)
}

func containerMetrics() []containerMetric {
	ofLimit := func(value func(c *meteredContainer) float64) func(c *meteredContainer) (float64, bool) {
		return func(c *meteredContainer) (float64, bool) { return value(c), c.Limited }
	}
	return []containerMetric{
		{"container_cpu_cfs_periods_total", "counter", "Periods of the CPU limit that have passed.", ofLimit(func(c *meteredContainer) float64 { return float64(c.Periods) })},
		{"container_cpu_cfs_throttled_periods_total", "counter", "Periods in which the container had used its quota up.", ofLimit(func(c *meteredContainer) float64 { return float64(c.Throttled) })},
		{"container_cpu_cfs_throttled_seconds_total", "counter", "Time that the container has waited for the next period, on all CPUs together.", ofLimit(func(c *meteredContainer) float64 { return c.ThrottledTime.Seconds() })},
		{"container_cpu_usage_seconds_total", "counter", "CPU time that the container has used.", func(c *meteredContainer) (float64, bool) { return c.CPU.Seconds(), true }},
		{"container_memory_working_set_bytes", "gauge", "Memory that the container uses.", func(c *meteredContainer) (float64, bool) { return c.used.Memory.AsApproximateFloat64(), true }},
		{"container_spec_cpu_period", "gauge", "Period of the CPU limit, in microseconds.", func(*meteredContainer) (float64, bool) { return float64(usage.CFSPeriod.Microseconds()), true }},
		{"container_spec_cpu_quota", "gauge", "CPU time that the limit allows in a period, in microseconds.", func(c *meteredContainer) (float64, bool) {
			limit := c.limit(corev1.ResourceCPU)
			return limit * float64(usage.CFSPeriod.Microseconds()), limit > 0
		}},
		{"container_spec_memory_limit_bytes", "gauge", "Memory limit of the container; 0 if it has none.", func(c *meteredContainer) (float64, bool) { return c.limit(corev1.ResourceMemory), true }},
		{"container_start_time_seconds", "gauge", "Start of the container's run, in Unix time.", func(c *meteredContainer) (float64, bool) { return float64(c.used.Since.Unix()), true }},
	}
}

// limit returns the container's limit of a resource; 0 if it has none.
func (c *meteredContainer) limit(name corev1.ResourceName) float64 {
	if spec := containerOf(c.pod, c.used.Name); spec != nil {
		limit := spec.Resources.Limits[name]
		return limit.AsApproximateFloat64()
	}
	return 0
}

// labels returns the labels that cAdvisor gives a container.
func (c *meteredContainer) labels(metric string) string {
	id, image := "", ""
	for _, status := range append(append([]corev1.ContainerStatus(nil), c.pod.Status.InitContainerStatuses...), c.pod.Status.ContainerStatuses...) {
		if status.Name == c.used.Name {
			_, id, _ = strings.Cut(status.ContainerID, "://")
			image = podspec.ImageName(status.Image)
		}
	}
	group := "/kubepods"
	if class := c.pod.Status.QOSClass; class != corev1.PodQOSGuaranteed && class != "" {
		group += "/" + strings.ToLower(string(class))
	}
	total := ""
	if metric == "container_cpu_usage_seconds_total" {
		total = `,cpu="total"`
	}
	return fmt.Sprintf(`{container=%q%s,id=%q,image=%q,name=%q,namespace=%q,pod=%q}`,
		c.used.Name, total, group+"/pod"+string(c.pod.UID)+"/"+id, image, id, c.pod.Namespace, c.pod.Name)
}

// writeContainerMetrics writes the usage of a node's containers, under the names of cAdvisor's metrics in
// upstream's kubelet.
func (k *serving) writeContainerMetrics(ctx context.Context, w http.ResponseWriter, n *nodes.Node) {
	metered, err := k.meter(ctx, n)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	all := metered.containers
	w.Header().Set("Content-Type", metricsText)
	for _, metric := range containerMetrics() {
		described := false
		for i := range all {
			value, has := metric.value(&all[i])
			if !has {
				continue
			}
			if !described {
				described = true
				_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", metric.name, metric.help, metric.name, metric.kind)
			}
			_, _ = fmt.Fprintf(w, "%s%s %s\n", metric.name, all[i].labels(metric.name), strconv.FormatFloat(value, 'g', -1, 64))
		}
	}
}
