package kubeletsim

import (
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/kwok"
	"minikcm.dev/minikcm/internal/kwokcel"
	"minikcm.dev/minikcm/internal/usage"
)

// ruleSet are the rules for the usage of containers.
type ruleSet struct {
	usages *kwok.Usages
	// generation counts the changes.
	generation int
}

// SetUsages sets the rules for the usage of containers; nil: there are none. Nodes then look at
// their resources again.
func (k *meters) SetUsages(usages *kwok.Usages) {
	last := k.rules.Load()
	if usages == nil && last == nil {
		return
	}
	next := &ruleSet{usages: usages, generation: 1}
	if last != nil {
		next.generation += last.generation
	}
	before := k.model()
	k.rules.Store(next)
	after := k.model()
	for _, uid := range k.pods.all() {
		e := k.pods.get(uid)
		if e == nil || !k.shards.owns(e.node) {
			continue
		}
		if pod, gone, _ := e.look(); !gone && (before.DeclaresDemand(pod) || after.DeclaresDemand(pod)) {
			e.stale.Store(true)
			k.loop.Add(podKey(string(uid)))
		}
	}
}

// SetMetrics makes kubelets serve these metrics, in addition to their own.
func (k *meters) SetMetrics(metrics *kwok.Metrics) { k.metrics.Store(metrics) }

// Started returns how many containers the kubelet of a node has started; 0 if it is not simulated.
func (k *meters) Started(node string) int64 {
	if n := k.nodes.Get(node); n != nil {
		return n.Started()
	}
	return 0
}

// Rules returns the rules for the usage of containers; nil if there are none.
func (k *meters) Rules() usage.Rules {
	if set := k.rules.Load(); set != nil && set.usages != nil {
		return set.usages
	}
	return nil
}

// model returns the model of the usage of containers.
func (k *meters) model() usage.Model {
	return usage.Model{Seed: k.opts.Seed, Rules: k.Rules(), Node: func(name string) *corev1.Node {
		node, _ := k.nodeLister.Get(name) // nil until the informer has it
		return node
	}}
}

// withDeclared serves kwok's Metrics at their paths on the node's kubelet, and passes other requests to next.
func (k *serving) withDeclared(kubelet string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if metric, node := k.metrics.Load().Find(r.URL.Path, kubelet); metric != nil {
			k.serveMetric(w, r, metric, node)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serveMetric writes the values of a Metric for a simulated node.
func (k *serving) serveMetric(w http.ResponseWriter, r *http.Request, metric *kwok.Metric, node string) {
	n := k.nodes.Get(node)
	object, err := k.nodeLister.Get(node)
	if n == nil || !n.Reachable() || err != nil {
		http.Error(w, "no simulated node "+node+" is in reach", http.StatusNotFound)
		return
	}
	metered, err := k.meter(r.Context(), n)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	pods := k.podObjects(node)
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	w.Header().Set("Content-Type", metricsText)
	failed, _ := metric.Write(w, &kwok.View{
		Node: object, Pods: pods, Now: k.opts.Clock.Now(), Seed: k.opts.Seed, Started: k.Started,
		Usage: func(of kwokcel.Subject, resource string, cumulative bool) float64 {
			return metered.usage(node, of, corev1.ResourceName(resource), cumulative)
		},
	})
	if failed != nil {
		k.metrics.Load().Report(metric, failed)
	}
}

// usage returns the usage of a resource by the node, a pod or a container, or the sum of that usage over the seconds
// until the reading.
func (r *reading) usage(node string, of kwokcel.Subject, name corev1.ResourceName, cumulative bool) float64 {
	switch {
	case of.Node != "" && of.Node != node:
		return 0
	case of.Node != "" && cumulative && name == corev1.ResourceCPU:
		return r.cpu.Seconds()
	case of.Node != "" && cumulative:
		return r.amounts[name]
	}
	var sum float64
	for i := range r.containers {
		c := &r.containers[i]
		if of.Node == "" && (c.pod.UID != of.Pod.UID || of.Container != "" && c.used.Name != of.Container) {
			continue
		}
		sum += c.amount(name, cumulative)
	}
	return sum
}

func (c *meteredContainer) amount(name corev1.ResourceName, cumulative bool) float64 {
	switch {
	case cumulative && name == corev1.ResourceCPU:
		return c.CPU.Seconds()
	case cumulative:
		return c.Amounts[name]
	case name == corev1.ResourceCPU:
		return c.used.CPU.AsApproximateFloat64()
	case name == corev1.ResourceMemory:
		return c.used.Memory.AsApproximateFloat64()
	}
	return c.used.Others[name]
}
