package endpointslice

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/controllers/loop"
)

// byService is the name of the index of slices by service.
const byService = "minikcm.dev/service"

func indexByService(obj any) ([]string, error) {
	slice, ok := obj.(*discoveryv1.EndpointSlice)
	if !ok || slice.Labels[discoveryv1.LabelServiceName] == "" {
		return nil, nil
	}
	return []string{serviceOf(slice).String()}, nil
}

func addServiceIndex(slices cache.SharedIndexInformer) error {
	if _, has := slices.GetIndexer().GetIndexers()[byService]; has {
		return nil
	}
	return slices.AddIndexers(cache.Indexers{byService: indexByService})
}

// serviceOf returns the service that a slice names.
func serviceOf(slice *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
}

// wakeForPod enqueues the services of a pod: small ones at once, large ones after a delay
// in which more events may arrive.
func (c *Controller) wakeForPod(ev loop.Event) []types.NamespacedName {
	return c.batch.Wake(c.selection.Wake(ev), ev, c.loop.AddAfter)
}

// wakeForSlice enqueues the service of a slice that another client has changed: at once, or
// after the running reconcile of the service.
func (c *Controller) wakeForSlice(ev loop.Event) []types.NamespacedName {
	slice, ok := ev.Object.(*discoveryv1.EndpointSlice)
	if !ok || c.client.postpone(serviceOf(slice), ev) {
		return nil
	}
	return c.changedByOthers(ev)
}

// changedByOthers returns the services of a slice that another client has changed. The
// tracker recognizes the controller's own writes, which need no reconcile.
func (c *Controller) changedByOthers(ev loop.Event) []types.NamespacedName {
	slice := ev.Object.(*discoveryv1.EndpointSlice)
	managed := c.reconciler.ManagedByController(slice)
	var keys []types.NamespacedName
	switch ev.Type {
	case loop.Deleted:
		// HandleDeletion also forgets the slice, independent of which client deleted it.
		if managed && c.tracker.Has(slice) && !c.tracker.HandleDeletion(slice) {
			keys = append(keys, serviceOf(slice))
		}
	case loop.Updated:
		old, ok := ev.Old.(*discoveryv1.EndpointSlice)
		if ok && (c.reconciler.ManagedByChanged(old, slice) || serviceOf(old) != serviceOf(slice)) {
			keys = append(keys, serviceOf(old), serviceOf(slice))
			break
		}
		fallthrough
	default:
		if managed && c.tracker.ShouldSync(slice) {
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

// wakeForNode updates the topology cache when a node is added or removed, or changes its
// zone, readiness or processors, and enqueues the services whose hints are outdated.
func (c *Controller) wakeForNode(ev loop.Event) []types.NamespacedName {
	node, ok := ev.Object.(*corev1.Node)
	if !ok {
		return nil
	}
	if old, ok := ev.Old.(*corev1.Node); ok && sameTopology(old, node) {
		return nil
	}
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		c.logger.Error(err, "Cannot list nodes", "controller", Name)
		return nil
	}
	c.topology.SetNodes(klog.LoggerWithValues(c.logger, "controller", Name), nodes)
	var keys []types.NamespacedName
	for _, key := range c.topology.GetOverloadedServices() {
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
