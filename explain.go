package minikcm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/internal/reasons"
	"minikcm.dev/minikcm/internal/writerecord"
)

// WriteLog is the write record of a cluster: its newest writes, and the requests that were refused.
type WriteLog = writerecord.Log

// Write is the record of one revision.
type Write = writerecord.Write

// Effect is the effect of a Write on its object.
type Effect = writerecord.Effect

// The effects of writes.
const (
	Created = writerecord.Created
	Changed = writerecord.Changed
	Removed = writerecord.Removed
)

// Change is a field that a Write changed.
type Change = writerecord.Change

// Refusal counts requests that were refused.
type Refusal = writerecord.Refusal

// Explanation explains the state of the object that a Query names.
type Explanation = writerecord.Explanation

// Link is a Write and its causes.
type Link = writerecord.Link

// Query identifies an object.
type Query = writerecord.Query

// NeverWrittenError is the error of Explain and Cluster.Why for an object that the record has no write of.
type NeverWrittenError = writerecord.NeverWrittenError

// Explain follows the causes of an object's writes back to the first one. forgotten is the
// number of writes that the record has dropped. The error is a *NeverWrittenError
// if none of the writes is about the object.
func Explain(writes []Write, forgotten int64, query Query) (*Explanation, error) {
	return writerecord.Explain(writes, forgotten, query)
}

// Writes returns the write record.
func (c *Cluster) Writes() *WriteLog { return c.server.Writes() }

// Why explains an object: why it is not as expected now, and the chain of causes of its
// writes back to the first one. The error is a *NeverWrittenError if the object does
// not exist and the record has none of its writes.
func (c *Cluster) Why(ctx context.Context, query Query) (*Explanation, error) {
	log := c.Writes()
	forgotten := log.Forgotten()
	explanation, err := writerecord.Explain(log.Writes(nil), forgotten, query)
	var never *NeverWrittenError
	if err != nil && !errors.As(err, &never) {
		return nil, err
	}
	object, report, err := c.reasons(ctx, query)
	switch {
	case err == nil && never != nil:
		explanation = unwritten(object, never)
	case apierrors.IsNotFound(err) && never != nil:
		never.Absent = true
		never.Refuse(log.Refusals().All(nil))
		c.suggest(query, never)
		return nil, never
	case never != nil:
		return nil, err
	}
	explanation.Refuse(log.Refusals().All(nil), query)
	if err != nil { // the write record is enough
		return explanation, nil
	}
	explanation.Now = report
	return explanation, nil
}

// unwritten explains an existing object of which the record has no write.
func unwritten(o *unstructured.Unstructured, never *NeverWrittenError) *Explanation {
	return &Explanation{
		Object: Write{
			Resource: metav1.GroupVersionResource{Group: o.GroupVersionKind().Group, Version: o.GroupVersionKind().Version, Resource: never.Query.Resource},
			Kind:     o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
		},
		Since: never.Since, Forgotten: never.Forgotten,
	}
}

// suggest adds the existing objects of the kind to the error.
func (c *Cluster) suggest(query Query, never *NeverWrittenError) {
	for held := range c.server.CachedObjects("") {
		if query.Group != "" && query.Group != held.Kind.Group || query.Resource != "" && query.Resource != held.Resource || query.Resource == "" && query.Kind != held.Kind.Kind {
			continue
		}
		if m, err := meta.Accessor(held.Object); err == nil {
			never.Suggest(m.GetNamespace(), m.GetName())
		}
	}
}

// Known returns the objects of a namespace (empty: of all) and the cluster-scoped ones that
// the API server has in memory, without Events, to find reasons in. It does not block, so
// that it may be called while virtual time stands still or etcd fails.
func (c *Cluster) Known(namespace string) *ObjectIndex {
	index := reasons.NewIndex()
	for held := range c.server.CachedObjects(namespace) {
		index.Add(held.Kind, held.Object)
	}
	c.addRefusals(index)
	// Pods of other namespaces hold resources, too.
	for object := range c.server.CachedObjectsOf(corev1.SchemeGroupVersion.WithResource("pods")) {
		if pod, ok := object.(*corev1.Pod); ok {
			index.AddPod(pod)
		}
	}
	for _, resource := range []schema.GroupVersionResource{appsv1.SchemeGroupVersion.WithResource("replicasets"), batchv1.SchemeGroupVersion.WithResource("jobs")} {
		for object := range c.server.CachedObjectsOf(resource) {
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

// ResourceForShortName returns the built-in resource with a short name, such as pods for po.
func ResourceForShortName(name string) (gr schema.GroupResource, ok bool) {
	for _, row := range apiserver.BuiltinResources().All() {
		if slices.Contains(row.ShortNames, name) {
			return row.GroupResource(), true
		}
	}
	return schema.GroupResource{}, false
}
