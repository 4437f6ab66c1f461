package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/apiserver/watchcache"
)

// MetricsSource knows what pods and nodes use, and what the metrics of objects say.
// Upstream, the servers of these APIs ask kubelets and monitoring systems. What it is
// given must not be changed; its errors are answered as a Status.
type MetricsSource interface {
	// PodMetrics and NodeMetrics leave out what nothing is known of, and keep the order
	// of the others.
	PodMetrics(ctx context.Context, world MetricsWorld, pods []*corev1.Pod) ([]*metricsv1beta1.PodMetrics, error)
	NodeMetrics(ctx context.Context, world MetricsWorld, nodes []*corev1.Node) ([]*metricsv1beta1.NodeMetrics, error)
	// ObjectMetrics has one value for each of the objects, which are all of one kind;
	// nil for those that do not have the metric.
	ObjectMetrics(ctx context.Context, world MetricsWorld, objects []metav1.Object, metric string) ([]*MetricSample, error)
	// ExternalMetrics are all series of a metric in a namespace.
	ExternalMetrics(ctx context.Context, world MetricsWorld, namespace, metric string) ([]externalmetricsv1beta1.ExternalMetricValue, error)
	// MetricNames are the metrics that an object tells of.
	MetricNames(o metav1.Object) MetricNames
}

// MetricSample is the value of a metric at a time.
type MetricSample struct {
	Value     resource.Quantity
	Timestamp time.Time
}

// MetricsWorld is the objects of the API, as a MetricsSource sees them.
type MetricsWorld interface {
	// List returns the objects of a built-in resource in a namespace, or in all if it
	// is empty. They are shared and must not be changed.
	List(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]runtime.Object, error)
}

// withMetrics adds the kinds of the metrics APIs if somebody knows what they say.
func withMetrics(table *resources.Table, source MetricsSource) *resources.Table {
	if source == nil {
		return table
	}
	return table.With(resources.MetricsRows()...)
}

// metricsWorld is the MetricsWorld of a server: what the watch caches hold.
type metricsWorld struct{ *Server }

func (w metricsWorld) List(ctx context.Context, gvr schema.GroupVersionResource, namespace string) ([]runtime.Object, error) {
	row := w.table.Lookup(gvr)
	if row == nil || w.stored[gvr] == nil {
		return nil, fmt.Errorf("listing %s: it is not stored", gvr)
	}
	return listed(ctx, row, w.stored[gvr], namespace, labels.Everything(), fields.Everything())
}

// listed are the newest objects of a row that match.
func listed(ctx context.Context, row *resources.Resource, objects *storage.Objects, namespace string, label labels.Selector, field fields.Selector) ([]runtime.Object, error) {
	if !row.Namespaced {
		namespace = ""
	}
	list, err := objects.Cache().List(ctx, watchcache.ListOptions{
		Prefix: objects.Prefix(namespace), Match: watchcache.Consistent, Label: label, Field: field,
	})
	if err != nil {
		return nil, storage.Translate(err, row.GroupResource(), "")
	}
	all := make([]runtime.Object, len(list.Entries))
	for i, entry := range list.Entries {
		all[i] = fromStored(row, entry.Object)
	}
	return all, nil
}

// findComputed finds what serves a kind that is not stored.
func findComputed(row *resources.Resource, verb string) (verbFunc, error) {
	get, list := serveUsageGet, serveUsageList
	if row.Group == corev1.GroupName {
		get, list = serveComponentGet, serveComponentList
	}
	switch verb {
	case verbGet:
		return get, nil
	case verbList:
		return list, nil
	}
	return nil, errMethodNotAllowed()
}

// serveUsageGet serves GET on the metrics of one pod or node.
func serveUsageGet(ctx context.Context, rq *request) error {
	p, err := rq.usage(ctx, labels.Everything(), fields.OneTermEqualSelector(metav1.ObjectNameField, rq.Name))
	if err != nil {
		return err
	}
	if p.Len() == 0 {
		return rq.noUsage()
	}
	return rq.writeResult(http.StatusOK, p.At(0))
}

// noUsage says what a metrics-server says that knows nothing of an object.
func (rq *request) noUsage() error {
	resource, name := "podmetrics", rq.Namespace+"/"+rq.Name
	if !rq.row.Namespaced {
		resource, name = "nodemetrics", rq.Name
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: rq.row.Group, Resource: resource}, name)
}

// serveUsageList serves GET on the metrics of the pods of a namespace, of all pods, or
// of all nodes. They are not paged.
func serveUsageList(ctx context.Context, rq *request) error {
	opts, err := rq.listOptions()
	if err != nil {
		return err
	}
	p, err := rq.usage(ctx, opts.label, opts.field)
	if err != nil {
		return err
	}
	return rq.writeList(p)
}

// usage asks for what the pods or nodes use that match.
func (rq *request) usage(ctx context.Context, label labels.Selector, field fields.Selector) (*page, error) {
	gvr := corev1.SchemeGroupVersion.WithResource(rq.row.Plural)
	row, objects := rq.server.table.Lookup(gvr), rq.server.stored[gvr]
	if row == nil || objects == nil {
		return nil, errNotFoundPath()
	}
	all, err := listed(ctx, row, objects, rq.Namespace, label, field)
	if err != nil {
		return nil, err
	}
	source, world, p := rq.server.opts.Metrics, metricsWorld{rq.server}, &page{}
	if row.Namespaced {
		used, err := source.PodMetrics(ctx, world, typed[*corev1.Pod](all))
		for _, m := range used {
			p.add(m)
		}
		return p, err
	}
	used, err := source.NodeMetrics(ctx, world, typed[*corev1.Node](all))
	for _, m := range used {
		p.add(m)
	}
	return p, err
}

// typed are those of the objects that have the type.
func typed[T runtime.Object](objects []runtime.Object) []T {
	all := make([]T, 0, len(objects))
	for _, obj := range objects {
		if o, ok := obj.(T); ok {
			all = append(all, o)
		}
	}
	return all
}
