package dump

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

// kinds finds the resources of kinds by discovery and caches them.
type kinds struct {
	discovery discovery.DiscoveryInterface
	served    map[schema.GroupVersion][]metav1.APIResource
}

// kind is the resource of a kind.
type kind struct {
	resource           schema.GroupVersionResource
	namespaced, status bool
}

// forget empties the cache, so that newly defined kinds are found.
func (k *kinds) forget() { k.served = nil }

// of finds a kind. If the cluster does not serve it, missing is the reason.
func (k *kinds) of(gvk schema.GroupVersionKind) (found *kind, missing string, err error) {
	gv := gvk.GroupVersion()
	served, known := k.served[gv]
	if !known {
		list, err := k.discovery.ServerResourcesForGroupVersion(gv.String())
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, "", fmt.Errorf("discovering the resources of %s: %w", gv, err)
		}
		if list != nil {
			served = list.APIResources
		}
		if k.served == nil {
			k.served = map[schema.GroupVersion][]metav1.APIResource{}
		}
		k.served[gv] = served
	}
	at := slices.IndexFunc(served, func(r metav1.APIResource) bool { return r.Kind == gvk.Kind && !isSubresource(r.Name) })
	if at < 0 {
		if isBuiltin(gvk.Group) {
			return nil, leftVersion, nil
		}
		return nil, leftKind, nil
	}
	r := &served[at]
	status := slices.ContainsFunc(served, func(sub metav1.APIResource) bool { return sub.Name == r.Name+"/status" })
	return &kind{resource: gv.WithResource(r.Name), namespaced: r.Namespaced, status: status}, "", nil
}

func isSubresource(name string) bool {
	return slices.Contains([]byte(name), '/')
}

// establishTimeout bounds the wait until a cluster serves a new CustomResourceDefinition, in
// machine time.
const establishTimeout = 30 * time.Second

// established returns when a CustomResourceDefinition is served. A minikcm cluster serves it
// at once.
func (l *loader) established(ctx context.Context, k *kind, crd *unstructured.Unstructured) error {
	if isEstablished(crd) {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, establishTimeout, fmt.Errorf("it was not Established within %v", establishTimeout))
	defer cancel()
	return Established(ctx, l.client.Resource(k.resource), crd.GetName())
}

// Established waits until the cluster serves a CustomResourceDefinition. It returns an error
// if ctx ends before.
func Established(ctx context.Context, definitions dynamic.ResourceInterface, name string) error {
	w, err := definitions.Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()})
	if err != nil {
		return fmt.Errorf("waiting until it is Established: %w", err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			return fmt.Errorf("waiting until it is Established: %w", apierrors.FromObject(event.Object))
		}
		if o, ok := event.Object.(*unstructured.Unstructured); ok && isEstablished(o) {
			return nil
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return errors.New("the watch ended before it was Established")
}

func isEstablished(crd *unstructured.Unstructured) bool { return conditionIsTrue(crd, "Established") }
