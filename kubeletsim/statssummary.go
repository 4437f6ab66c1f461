package kubeletsim

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/summary"
)

// serveSummary writes the usage of the node and its pods, as upstream's kubelet does at /stats/summary.
func (k *serving) serveSummary(w http.ResponseWriter, r *http.Request, n *nodes.Node) {
	metered, err := k.meter(r.Context(), n)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	node := &summary.Node{Name: n.Name, At: metered.at, CPU: metered.cpu, Capacity: n.Capacity(), Allocatable: n.Allocatable, ImageBytes: n.ImageBytes()}
	if object, err := k.nodeLister.Get(n.Name); err == nil {
		node.Since = object.CreationTimestamp.Time
	}
	model := k.model()
	for i := range metered.containers {
		c := &metered.containers[i]
		if last := len(node.Pods) - 1; last < 0 || node.Pods[last].Object.UID != c.pod.UID {
			node.Pods = append(node.Pods, summary.Pod{Object: c.pod})
		}
		pod := &node.Pods[len(node.Pods)-1]
		used := summary.Container{Name: c.used.Name, Since: c.used.Since, Cores: c.used.CPU.AsApproximateFloat64(), CPU: c.CPU, Memory: c.used.Memory.AsApproximateFloat64()}
		if spec := containerOf(c.pod, c.used.Name); spec != nil {
			demand, _ := model.DemandOf(c.pod, spec, corev1.ResourceEphemeralStorage, c.used.Since)
			used.Disk = demand.At(metered.at)
		}
		pod.Containers = append(pod.Containers, used)
	}
	for i := range node.Pods {
		k.addWritten(&node.Pods[i])
	}
	out := summary.Of(node)
	if r.URL.Query().Get("only_cpu_and_memory") == "true" {
		summary.OnlyCPUAndMemory(out)
	}
	writeJSON(w, out)
}

// addWritten adds the files that the containers of a pod have written.
func (k *serving) addWritten(pod *summary.Pod) {
	e := k.pods.get(pod.Object.UID)
	if e == nil {
		return
	}
	written := e.files.Written()
	pod.Volumes = written.Volumes
	for i := range pod.Containers {
		pod.Containers[i].Disk += float64(written.Containers[pod.Containers[i].Name])
	}
}
