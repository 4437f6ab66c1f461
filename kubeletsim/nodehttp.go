package kubeletsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// metricsText is the media type of metrics.
const metricsText = "text/plain; version=0.0.4; charset=utf-8"

// NodeHandler returns the kubelet's own HTTP endpoints: /healthz, /pods, /metrics, /metrics/cadvisor,
// /metrics/resource, /stats/summary, /configz and /containerLogs, and kwok's Metrics at their paths. It
// is nil if no simulated node has the name, or the node is out of reach.
func (k *serving) NodeHandler(name string) http.Handler {
	n := k.nodes.Get(name)
	if n == nil || !n.Reachable() {
		return nil
	}
	mux := http.NewServeMux()
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "ok") }
	mux.HandleFunc("/healthz", ok)
	mux.HandleFunc("/healthz/", ok)
	mux.HandleFunc("/pods", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, k.podsOf(n)) })
	mux.HandleFunc("/runningpods/", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, k.podsOf(n)) })
	mux.HandleFunc("/configz", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, k.configOf(n)) })
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) { k.writeNodeMetrics(w, n) })
	mux.HandleFunc("/metrics/cadvisor", func(w http.ResponseWriter, r *http.Request) { k.writeContainerMetrics(r.Context(), w, n) })
	mux.HandleFunc("/metrics/resource", func(w http.ResponseWriter, r *http.Request) { k.writeResourceMetrics(r.Context(), w, n) })
	mux.HandleFunc("/stats/summary", func(w http.ResponseWriter, r *http.Request) { k.serveSummary(w, r, n) })
	mux.HandleFunc("/containerLogs/{namespace}/{pod}/{container}", k.serveContainerLog)
	return k.withDeclared(name, mux)
}

func writeJSON(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

// podsOf lists the pods that are bound to the node.
func (k *serving) podsOf(n *nodes.Node) *corev1.PodList {
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{}}
	for _, uid := range k.pods.on(n.Name) {
		if e := k.pods.get(uid); e != nil {
			list.Items = append(list.Items, *e.See().Pod)
		}
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return list
}

// configOf returns the part of a kubelet's configuration that the simulation follows.
func (k *serving) configOf(n *nodes.Node) any {
	pods := n.Allocatable[corev1.ResourcePods]
	return map[string]any{"kubeletconfig": map[string]any{
		"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1",
		"maxPods": pods.Value(), "clusterDomain": "cluster.local", "podCIDR": podRangeOf(n),
	}}
}

// writeNodeMetrics writes upstream's metrics of pods and containers, by their state.
func (k *serving) writeNodeMetrics(w http.ResponseWriter, n *nodes.Node) {
	var pods int
	containers := map[string]int{"created": 0, "running": 0, "exited": 0}
	for _, uid := range k.pods.on(n.Name) {
		e := k.pods.get(uid)
		if e == nil {
			continue
		}
		shown := e.See()
		if shown.State.Sandbox && !shown.State.Ended {
			pods++
		}
		for i := range shown.State.Containers {
			switch shown.State.Containers[i].Phase {
			case lifecycle.Created:
				containers["created"]++
			case lifecycle.Running:
				containers["running"]++
			default:
				containers["exited"]++
			}
		}
	}
	w.Header().Set("Content-Type", metricsText)
	_, _ = fmt.Fprintf(w, "# HELP kubelet_node_name The node's name. The count is always 1.\n# TYPE kubelet_node_name gauge\nkubelet_node_name{node=%q} 1\n", n.Name)
	_, _ = fmt.Fprintf(w, "# HELP kubelet_running_containers Number of containers by their state.\n# TYPE kubelet_running_containers gauge\n")
	for _, state := range []string{"created", "exited", "running"} {
		_, _ = fmt.Fprintf(w, "kubelet_running_containers{container_state=%q} %d\n", state, containers[state])
	}
	_, _ = fmt.Fprintf(w, "# HELP kubelet_running_pods Number of pods that have a running pod sandbox.\n# TYPE kubelet_running_pods gauge\nkubelet_running_pods %d\n", pods)
}

// serveContainerLog writes the present log of a container.
func (k *serving) serveContainerLog(w http.ResponseWriter, r *http.Request) {
	pod, err := k.podLister.Pods(r.PathValue("namespace")).Get(r.PathValue("pod"))
	if err != nil {
		http.Error(w, fmt.Sprintf("pod %q does not exist", r.PathValue("pod")), http.StatusNotFound)
		return
	}
	opts := &corev1.PodLogOptions{Container: r.PathValue("container"), Previous: r.URL.Query().Get("previous") == "true"}
	write, err := k.OpenLog(pod, opts)
	if err != nil {
		http.Error(w, apierrors.NewBadRequest(err.Error()).Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	_ = write(r.Context(), w) // the answer has begun
}

// podRangeOf returns the range of the node's pod addresses; empty if the node awaits one.
func podRangeOf(n *nodes.Node) string {
	if n.AwaitsRange() {
		return ""
	}
	return n.PodRange().String()
}
