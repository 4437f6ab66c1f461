package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"minikcm.dev/minikcm/controllers/internal/namespace/decide"
)

// Resource is a kind of content of a namespace, as discovery lists it.
type Resource struct {
	GroupVersionResource schema.GroupVersionResource
	// Collection is true if one request can delete the whole collection.
	Collection bool
	// Listable is true if the remaining objects can be listed.
	Listable bool
}

// Resources returns the namespaced resources with deletable objects from discovery, in a
// fixed order.
func Resources(lists []*metav1.APIResourceList) ([]Resource, error) {
	var found []Resource
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"delete"}}, lists) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("parsing group version %q: %w", list.GroupVersion, err)
		}
		for _, r := range list.APIResources {
			if !r.Namespaced || strings.Contains(r.Name, "/") {
				continue
			}
			found = append(found, Resource{
				GroupVersionResource: gv.WithResource(r.Name),
				Collection:           slices.Contains(r.Verbs, "deletecollection"),
				Listable:             slices.Contains(r.Verbs, "list"),
			})
		}
	}
	slices.SortFunc(found, func(a, b Resource) int {
		return strings.Compare(a.GroupVersionResource.String(), b.GroupVersionResource.String())
	})
	return found, nil
}

// deleteContent makes one pass: pods first, and nothing else while any remain.
func (c *Controller) deleteContent(ctx context.Context, ns *corev1.Namespace) decide.Outcome {
	var outcome decide.Outcome
	lists, err := discovery.ServerPreferredNamespacedResources(c.discovery)
	outcome.DiscoveryErr = err
	var failed *discovery.ErrGroupDiscoveryFailed
	if errors.As(err, &failed) {
		outcome.FailedGroups = len(failed.Groups)
	}
	resources, err := Resources(lists)
	outcome.GroupVersionErr = err

	if i := slices.IndexFunc(resources, func(r Resource) bool { return r.GroupVersionResource == decide.PodResource }); i >= 0 {
		left, err := c.deleteAll(ctx, ns, resources[i])
		if err != nil {
			outcome.ContentErrs = append(outcome.ContentErrs, fmt.Errorf("failed to delete pods for namespace: %s, err: %w", ns.Name, err))
		}
		if left.Count > 0 {
			outcome.Left = []decide.Leftover{left}
		}
		if left.Count > 0 || err != nil {
			return outcome
		}
		resources = slices.Delete(resources, i, i+1)
	}
	for _, resource := range resources {
		left, err := c.deleteAll(ctx, ns, resource)
		if err != nil {
			outcome.ContentErrs = append(outcome.ContentErrs, err)
		}
		if left.Count > 0 {
			outcome.Left = append(outcome.Left, left)
		}
	}
	return outcome
}

// deleteAll deletes the namespace's objects of one resource and assesses the remaining
// ones.
func (c *Controller) deleteAll(ctx context.Context, ns *corev1.Namespace, resource Resource) (decide.Leftover, error) {
	gvr := resource.GroupVersionResource
	var grace time.Duration
	if gvr == decide.PodResource {
		pods, err := c.pods.Pods(ns.Name).List(labels.Everything())
		if err != nil {
			return decide.Leftover{}, fmt.Errorf("listing the pods of namespace %s: %w", ns.Name, err)
		}
		grace = decide.Grace(pods, ns.DeletionTimestamp.Time, c.clock.Now())
	}
	if err := c.deleteObjects(ctx, ns.Name, resource); err != nil {
		return decide.Leftover{Resource: gvr, Estimate: grace}, err
	}
	if !resource.Listable {
		return decide.Leftover{Resource: gvr}, nil
	}
	list, err := c.metadata.Resource(gvr).Namespace(ns.Name).List(ctx, metav1.ListOptions{})
	switch {
	case notSupported(err):
		return decide.Leftover{Resource: gvr}, nil
	case err != nil:
		return decide.Leftover{Resource: gvr, Estimate: grace}, fmt.Errorf("listing %v in namespace %s: %w", gvr, ns.Name, err)
	}
	return decide.Assess(gvr, ns.Name, list.Items, grace)
}

// deleteObjects deletes the collection in one request, or else one by one.
func (c *Controller) deleteObjects(ctx context.Context, namespace string, resource Resource) error {
	client := c.metadata.Resource(resource.GroupVersionResource).Namespace(namespace)
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background}
	if resource.Collection {
		err := client.DeleteCollection(ctx, options, metav1.ListOptions{})
		if err == nil {
			return nil
		}
		if !notSupported(err) {
			return fmt.Errorf("deleting all %v in namespace %s: %w", resource.GroupVersionResource, namespace, err)
		}
	}
	list, err := client.List(ctx, metav1.ListOptions{})
	if notSupported(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing %v in namespace %s: %w", resource.GroupVersionResource, namespace, err)
	}
	for i := range list.Items {
		err := client.Delete(ctx, list.Items[i].Name, options)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err) {
			return fmt.Errorf("deleting %v %s/%s: %w", resource.GroupVersionResource, namespace, list.Items[i].Name, err)
		}
	}
	return nil
}

// notSupported reports whether the resource lacks the verb, or has been removed with its
// definition since discovery.
func notSupported(err error) bool {
	return apierrors.IsMethodNotSupported(err) || apierrors.IsNotFound(err)
}
