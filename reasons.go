package minikcm

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/internal/reasons"
)

// Known returns the objects of a namespace (empty: of all) and the cluster-scoped ones that
// the API server has in memory, without Events, to find reasons in. It does not block, so
// that it may be called while virtual time stands still or etcd fails.
func (c *Cluster) Known(namespace string) *ObjectIndex {
	index := reasons.NewIndex()
	for held := range c.server.Held(namespace) {
		index.Add(held.Kind, held.Object)
	}
	c.addRefusals(index)
	// Pods of other namespaces hold resources, too.
	for object := range c.server.HeldOf(corev1.SchemeGroupVersion.WithResource("pods")) {
		if pod, ok := object.(*corev1.Pod); ok {
			index.AddPod(pod)
		}
	}
	for _, resource := range []schema.GroupVersionResource{appsv1.SchemeGroupVersion.WithResource("replicasets"), batchv1.SchemeGroupVersion.WithResource("jobs")} {
		for object := range c.server.HeldOf(resource) {
			index.AddOwner(object)
		}
	}
	return index
}

// addRefusals adds the refused requests, as far as they explain something now.
func (c *Cluster) addRefusals(index *reasons.Index) {
	refusals := c.Writes().Refusals().All(nil)
	for i := range refusals {
		if about, refusal, ok := refusals[i].Reason(); ok {
			index.AddRefusal(about, refusal)
		}
	}
}

// Reasons reports why an object is not as expected; the report is empty if it is. The
// error is the API's NotFound if the object does not exist.
func (c *Cluster) Reasons(ctx context.Context, q Query) (*ReasonReport, error) {
	_, report, err := c.reasons(ctx, q)
	return report, err
}

func (c *Cluster) reasons(ctx context.Context, q Query) (*unstructured.Unstructured, *reasons.Report, error) {
	kind, obj, err := c.server.Find(ctx, q.Group, q.Resource, q.Kind, q.Namespace, q.Name)
	if err != nil {
		return nil, nil, err
	}
	object := reasons.Unstructured(kind, obj)
	if object == nil {
		return nil, nil, fmt.Errorf("reading %s %s: a %T is no object of the API", kind.Kind, q.Name, obj)
	}
	index := c.Known(q.Namespace)
	events, err := c.server.EventsIn(ctx, q.Namespace)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the events of %s %s: %w", kind.Kind, q.Name, err)
	}
	for _, e := range events {
		index.AddEvent(e)
	}
	report := reasons.Of(index.Subject(object))
	return object, &report, nil
}
