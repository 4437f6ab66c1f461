package endpointslicemirroring

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/controllers/internal/endpointslicemirroring/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// byMirrored is the name of the index of the controller's slices by service.
const byMirrored = "minikcm.dev/mirrored"

func addIndex(slices cache.SharedIndexInformer) error {
	if _, has := slices.GetIndexer().GetIndexers()[byMirrored]; has {
		return nil
	}
	return slices.AddIndexers(cache.Indexers{byMirrored: func(obj any) ([]string, error) {
		slice, ok := obj.(*discoveryv1.EndpointSlice)
		if !ok || !isOurs(slice) {
			return nil, nil
		}
		return []string{mirroredBy(slice).String()}, nil
	}})
}

func isOurs(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[discoveryv1.LabelManagedBy] == decide.ManagedBy && slice.Labels[discoveryv1.LabelServiceName] != ""
}

func mirroredBy(slice *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
}

// mirrors returns the slices that mirror the Endpoints of this name and are not being
// deleted. They belong to the informer and must not be changed.
func mirrors(slices cache.Indexer, key types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	known, err := slices.ByIndex(byMirrored, key.String())
	if err != nil {
		return nil, fmt.Errorf("looking up the mirrors of endpoints %s: %w", key, err)
	}
	var found []*discoveryv1.EndpointSlice
	for _, object := range known {
		if slice, ok := object.(*discoveryv1.EndpointSlice); ok && slice.DeletionTimestamp == nil {
			found = append(found, slice)
		}
	}
	return found, nil
}

// wakeForService enqueues a service without a selector that is added or removed, and a
// service that gets or loses its selector.
func wakeForService(ev loop.Event) []types.NamespacedName {
	if selects(ev.Object) == (ev.Old == nil || selects(ev.Old)) {
		return nil
	}
	return loop.Self(ev)
}

func selects(o any) bool {
	service, ok := o.(*corev1.Service)
	return ok && service.Spec.Selector != nil
}

// wakeForEndpoints enqueues Endpoints unless their service has a selector, as nearly all services
// do: such Endpoints have no mirrors, or lose them when the service changes.
func (c *Controller) wakeForEndpoints(ev loop.Event) []types.NamespacedName {
	if ev.Type == loop.Deleted {
		c.expectations.ObserveOwner(ev)
	}
	service, err := c.services.Services(ev.Object.GetNamespace()).Get(ev.Object.GetName())
	if err == nil && service.Spec.Selector != nil {
		return nil
	}
	return loop.Self(ev)
}

// wakeForSlice enqueues the Endpoints of slices that are or were the controller's.
func (c *Controller) wakeForSlice(ev loop.Event) []types.NamespacedName {
	c.expectations.Observe(ev)
	var keys []types.NamespacedName
	for _, o := range []any{ev.Object, ev.Old} {
		slice, ok := o.(*discoveryv1.EndpointSlice)
		if ok && isOurs(slice) && (len(keys) == 0 || keys[0] != mirroredBy(slice)) {
			keys = append(keys, mirroredBy(slice))
		}
	}
	return keys
}
