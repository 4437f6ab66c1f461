package kubeletsim

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// resourceMetric is one of the metrics at /metrics/resource, with the samples of a node.
type resourceMetric struct {
	name, kind, help string
	samples          []resourceSample
}

type resourceSample struct {
	labels string
	value  float64
}

// add adds a sample.
func (m *resourceMetric) add(value float64, labels string) {
	m.samples = append(m.samples, resourceSample{labels, value})
}

// resourceMetrics returns the metrics of a reading that upstream's kubelet serves for metrics-server,
// in the order of their names.
func resourceMetrics(r reading) []resourceMetric {
	all := []resourceMetric{
		{name: "container_cpu_usage_seconds_total", kind: "counter", help: "CPU time that the container has used, in core-seconds."},
		{name: "container_memory_working_set_bytes", kind: "gauge", help: "Working set of the container, in bytes."},
		{name: "container_start_time_seconds", kind: "gauge", help: "Start of the container's run, in Unix time."},
		{name: "node_cpu_usage_seconds_total", kind: "counter", help: "CPU time that the node's containers have used, in core-seconds."},
		{name: "node_memory_working_set_bytes", kind: "gauge", help: "Working set of the node's containers, in bytes."},
		{name: "pod_cpu_usage_seconds_total", kind: "counter", help: "CPU time that the pod's running containers have used, in core-seconds."},
		{name: "pod_memory_working_set_bytes", kind: "gauge", help: "Working set of the pod, in bytes."},
	}
	var memory, podCPU, podMemory float64
	for i := range r.containers {
		c := &r.containers[i]
		labels := fmt.Sprintf("{container=%q,namespace=%q,pod=%q}", c.used.Name, c.pod.Namespace, c.pod.Name)
		used := c.used.Memory.AsApproximateFloat64()
		all[0].add(c.CPU.Seconds(), labels)
		all[1].add(used, labels)
		all[2].add(float64(c.used.Since.UnixMilli())/1000, labels)
		memory, podCPU, podMemory = memory+used, podCPU+c.CPU.Seconds(), podMemory+used
		if last := i == len(r.containers)-1; last || r.containers[i+1].pod != c.pod {
			labels := fmt.Sprintf("{namespace=%q,pod=%q}", c.pod.Namespace, c.pod.Name)
			all[5].add(podCPU, labels)
			all[6].add(podMemory, labels)
			podCPU, podMemory = 0, 0
		}
	}
	all[3].add(r.cpu.Seconds(), "")
	all[4].add(memory, "")
	return all
}

// writeResourceMetrics writes the metrics of a node with the time of their reading.
func (k *serving) writeResourceMetrics(ctx context.Context, w http.ResponseWriter, n *nodes.Node) {
	metered, err := k.meter(ctx, n)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", metricsText)
	for _, metric := range resourceMetrics(metered) {
		if len(metric.samples) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", metric.name, metric.help, metric.name, metric.kind)
		for _, s := range metric.samples {
			_, _ = fmt.Fprintf(w, "%s%s %s %d\n", metric.name, s.labels, strconv.FormatFloat(s.value, 'g', -1, 64), metered.at.UnixMilli())
		}
	}
	_, _ = fmt.Fprint(w, "# HELP resource_scrape_error Whether reading the metrics has failed: 1 or 0.\n# TYPE resource_scrape_error gauge\nresource_scrape_error 0\n")
}
