package resourcequota

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/quota"
)

// stats returns the number of a namespace's objects; nil if the kind does not exist, and 0
// if the quota does not count them.
type stats func(ctx context.Context, gr schema.GroupResource, q *corev1.ResourceQuota, name corev1.ResourceName) (*resource.Quantity, error)

// live counts by requests instead of informers. Its lists are consistent: they have
// everything that was stored when the request was sent, which informers may not have seen.
type live struct {
	client  kubernetes.Interface
	clock   clock.Clock
	backing quota.Backing
}

// registry returns the evaluators of the kinds whose usage is more than their number.
func (l live) registry(ctx context.Context) quotav1.Registry {
	return quota.NewRegistry(func(gvr schema.GroupVersionResource, namespace string) ([]runtime.Object, error) {
		return l.list(ctx, gvr, namespace)
	}, l.clock, l.backing)
}

func (l live) list(ctx context.Context, gvr schema.GroupVersionResource, namespace string) ([]runtime.Object, error) {
	core := l.client.CoreV1()
	switch gvr.Resource {
	case "pods":
		list, err := core.Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return pointers(list.Items), nil
	case "services":
		list, err := core.Services(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return pointers(list.Items), nil
	case "persistentvolumeclaims":
		list, err := core.PersistentVolumeClaims(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return pointers(list.Items), nil
	case "resourceclaims":
		list, err := l.client.ResourceV1().ResourceClaims(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return pointers(list.Items), nil
	}
	return nil, fmt.Errorf("%v is counted by number only", gvr)
}

// pointers returns the items as objects.
func pointers[T any, P interface {
	*T
	runtime.Object
}](items []T) []runtime.Object {
	objects := make([]runtime.Object, len(items))
	for i := range items {
		objects[i] = P(&items[i])
	}
	return objects
}

// liveStats is stats by a request.
func (c *counted) liveStats(ctx context.Context, gr schema.GroupResource, q *corev1.ResourceQuota, _ corev1.ResourceName) (*resource.Quantity, error) {
	if scoped(q) {
		return resource.NewQuantity(0, resource.DecimalSI), nil
	}
	of, err := c.informer(ctx, gr)
	if of == nil || err != nil {
		return nil, err
	}
	objects := c.metadata.Resource(of.version).Namespace(q.Namespace)
	list, err := objects.List(ctx, metav1.ListOptions{Limit: 1})
	if err == nil && list.Continue != "" && list.RemainingItemCount == nil { // a server that does not count
		list, err = objects.List(ctx, metav1.ListOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("listing the %s in %s for quota %s: %w", gr, q.Namespace, q.Name, err)
	}
	total := int64(len(list.Items))
	if list.RemainingItemCount != nil {
		total += *list.RemainingItemCount
	}
	return resource.NewQuantity(total, resource.DecimalSI), nil
}
