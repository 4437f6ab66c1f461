package minikcm

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"minikcm.dev/minikcm/reasons"
)

// Known is what the cluster's API server has in memory of a namespace, or of all if it is
// empty, and of what is in none, for reasons: without Events. It waits for nothing, so that
// it may be called while virtual time stands still and while etcd fails.
func (c *Cluster) Known(namespace string) *reasons.Index {
	index := reasons.NewIndex()
	for held := range c.server.Held(namespace) {
		index.Add(held.Kind, held.Object)
	}
	return index
}

// Reasons says why an object is not as expected; the report is empty if it is. The error
// is a NotFound one of the API if there is no such object.
func (c *Cluster) Reasons(ctx context.Context, q Query) (*reasons.Report, error) {
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
