package endpointslice

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/endpointslice/metrics"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/internal/loop"
)

// serviceOf returns the service that a slice names.
func serviceOf(slice *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
}

// OnService enqueues the service.
func (r *Reconciler) OnService(ev loop.Event) []types.NamespacedName {
	r.expectations.ObserveOwner(ev)
	return loop.Self(ev)
}

// ObservePod marks the pod as changed for the services that select it, or selected it before.
func (r *Reconciler) ObservePod(ev loop.Event) {
	r.records.Touch(r.selection.Wake(ev), ev.Object.GetName())
}

// OnPod enqueues the services that select a pod, or selected it before.
func (r *Reconciler) OnPod(ev loop.Event) []types.NamespacedName { return r.selection.Wake(ev) }

// ObserveSlice applies the event of a slice to the records of the services.
func (r *Reconciler) ObserveSlice(ev loop.Event) {
	slice, ok := ev.Object.(*discoveryv1.EndpointSlice)
	if !ok {
		return
	}
	if old, ok := ev.Old.(*discoveryv1.EndpointSlice); ok && serviceOf(old) != serviceOf(slice) && r.library.ManagedByController(old) {
		r.records.Unset(serviceOf(old), old.Name)
	}
	switch {
	case serviceOf(slice).Name == "":
	case ev.Type == loop.Deleted || slice.DeletionTimestamp != nil || !r.library.ManagedByController(slice):
		r.records.Unset(serviceOf(slice), slice.Name)
	default:
		r.records.Set(serviceOf(slice), slice)
	}
	r.measure()
}

// measure corrects the gauges that upstream's reconciler has set from a portion of a service.
func (r *Reconciler) measure() {
	totals := r.records.Totals()
	metrics.NumEndpointSlices.WithLabelValues().Set(float64(totals.Slices))
	metrics.DesiredEndpointSlices.WithLabelValues().Set(float64(totals.Needed))
	metrics.EndpointsDesired.WithLabelValues().Set(float64(totals.Endpoints))
}

// OnSlice enqueues the service of a slice that another client has changed: at once, or after
// the running reconcile of the service.
func (r *Reconciler) OnSlice(ev loop.Event) []types.NamespacedName {
	r.expectations.Observe(ev)
	slice, ok := ev.Object.(*discoveryv1.EndpointSlice)
	if !ok || r.client.postpone(serviceOf(slice), ev) {
		return nil
	}
	return r.changedByOthers(ev)
}

// changedByOthers returns the services of a slice that another client has changed. The
// tracker recognizes the controller's own writes, which need no reconcile.
func (r *Reconciler) changedByOthers(ev loop.Event) []types.NamespacedName {
	slice := ev.Object.(*discoveryv1.EndpointSlice)
	managed := r.library.ManagedByController(slice)
	var keys []types.NamespacedName
	switch ev.Type {
	case loop.Deleted:
		// HandleDeletion also forgets the slice, independent of which client deleted it.
		if managed && r.tracker.Has(slice) && !r.tracker.HandleDeletion(slice) {
			keys = append(keys, serviceOf(slice))
		}
	case loop.Updated:
		old, ok := ev.Old.(*discoveryv1.EndpointSlice)
		if ok && (r.library.ManagedByChanged(old, slice) || serviceOf(old) != serviceOf(slice)) {
			keys = append(keys, serviceOf(old), serviceOf(slice))
			break
		}
		fallthrough
	default:
		if managed && r.tracker.ShouldSync(slice) {
			keys = append(keys, serviceOf(slice))
		}
	}
	return withName(keys)
}

// withName removes duplicates and keys of slices that name no service.
func withName(keys []types.NamespacedName) []types.NamespacedName {
	var kept []types.NamespacedName
	for _, key := range keys {
		if key.Name != "" && (len(kept) == 0 || kept[0] != key) {
			kept = append(kept, key)
		}
	}
	return kept
}

// ObserveNode makes the next reconcile of each service read everything if the endpoints on the
// node may be others.
func (r *Reconciler) ObserveNode(ev loop.Event) {
	node, ok := ev.Object.(*corev1.Node)
	if !ok {
		return
	}
	old, updated := ev.Old.(*corev1.Node)
	if ev.Type == loop.Deleted || updated && old.Labels[corev1.LabelTopologyZone] != node.Labels[corev1.LabelTopologyZone] {
		r.nodesEdition.Add(1)
	}
}

// OnNode updates the topology cache when a node is added or removed, or changes its zone,
// readiness or processors, and enqueues the services whose hints are outdated.
func (r *Reconciler) OnNode(ev loop.Event) []types.NamespacedName {
	node, ok := ev.Object.(*corev1.Node)
	if !ok {
		return nil
	}
	if old, ok := ev.Old.(*corev1.Node); ok && sameTopology(old, node) {
		return nil
	}
	nodes, err := r.nodes.List(labels.Everything())
	if err != nil {
		r.logger.Error(err, "Cannot list nodes", "controller", Name)
		return nil
	}
	r.topology.SetNodes(klog.LoggerWithValues(r.logger, "controller", Name), nodes)
	var keys []types.NamespacedName
	for _, key := range r.topology.GetOverloadedServices() {
		namespace, name, err := cache.SplitMetaNamespaceKey(key)
		if err == nil {
			keys = append(keys, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return keys
}

// sameTopology reports whether the nodes' zone, processors and readiness are the same.
func sameTopology(a, b *corev1.Node) bool {
	return a.Labels[corev1.LabelTopologyZone] == b.Labels[corev1.LabelTopologyZone] &&
		a.Status.Allocatable.Cpu().Equal(*b.Status.Allocatable.Cpu()) && isReady(a) == isReady(b)
}

func isReady(node *corev1.Node) bool {
	for i := range node.Status.Conditions {
		if condition := &node.Status.Conditions[i]; condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
