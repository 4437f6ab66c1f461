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
	"minikcm.dev/minikcm/apiserver/response"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/apiserver/watchcache"
)

// MetricsSource provides the usage of pods and nodes and the metrics of objects;
// upstream, separate servers get them from kubelets and monitoring systems.
// Implementations must not modify their arguments. Errors are returned to the client as
// a Status.
type MetricsSource interface {
	// PodMetrics and NodeMetrics keep the order of the arguments and omit those without
	// data.
	PodMetrics(ctx context.Context, world MetricsWorld, pods []*corev1.Pod) ([]*metricsv1beta1.PodMetrics, error)
	NodeMetrics(ctx context.Context, world MetricsWorld, nodes []*corev1.Node) ([]*metricsv1beta1.NodeMetrics, error)
	// ObjectMetrics returns one value for each of the objects, which are of one kind;
	// nil for objects without the metric.
	ObjectMetrics(ctx context.Context, world MetricsWorld, objects []metav1.Object, metric string) ([]*MetricSample, error)
	// ExternalMetrics returns all series of a metric in a namespace.
	ExternalMetrics(ctx context.Context, world MetricsWorld, namespace, metric string) ([]externalmetricsv1beta1.ExternalMetricValue, error)
	// MetricNames returns the names of the metrics that an object provides.
	MetricNames(o metav1.Object) MetricNames
}

// MetricSample is the value of a metric at a time.
type MetricSample struct {
	Value     resource.Quantity
	Timestamp time.Time
}

// MetricsWorld gives a MetricsSource access to the objects of the API.
type MetricsWorld interface {
	// List returns the objects of a built-in resource in a namespace, or in all
	// namespaces if it is empty. They are shared and must not be modified.
	List(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]runtime.Object, error)
}

// withMetrics adds the kinds of the metrics APIs if source is not nil.
func withMetrics(table *resources.Table, source MetricsSource) *resources.Table {
	if source == nil {
		return table
	}
	return table.With(resources.MetricsRows()...)
}

// metricsWorld implements MetricsWorld with the server's watch caches.
type metricsWorld struct{ *Server }

func (w metricsWorld) List(ctx context.Context, gvr schema.GroupVersionResource, namespace string) ([]runtime.Object, error) {
	row := w.table.Lookup(gvr)
	if row == nil || w.stored[gvr] == nil {
		return nil, fmt.Errorf("listing %s: it is not stored", gvr)
	}
	return listed(ctx, row, w.stored[gvr], namespace, labels.Everything(), fields.Everything())
}

// listed returns the newest objects of a row that match the selectors.
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

// ServePodMetrics serves GET on the metrics of one pod.
func (rq *request) ServePodMetrics(ctx context.Context) error {
	p, err := rq.podMetrics(ctx, labels.Everything(), rq.onlyName())
	if err == nil && p.Len() == 0 { // as a metrics-server without data for the pod
		err = apierrors.NewNotFound(metricsv1beta1.Resource("podmetrics"), rq.Namespace+"/"+rq.Name)
	}
	if err != nil {
		return err
	}
	return rq.writeResult(http.StatusOK, p.At(0))
}

// ServeNodeMetrics serves GET on the metrics of one node.
func (rq *request) ServeNodeMetrics(ctx context.Context) error {
	p, err := rq.nodeMetrics(ctx, labels.Everything(), rq.onlyName())
	if err == nil && p.Len() == 0 {
		err = apierrors.NewNotFound(metricsv1beta1.Resource("nodemetrics"), rq.Name)
	}
	if err != nil {
		return err
	}
	return rq.writeResult(http.StatusOK, p.At(0))
}

// onlyName returns the selector of the request's object.
func (rq *request) onlyName() fields.Selector {
	return fields.OneTermEqualSelector(metav1.ObjectNameField, rq.Name)
}

// ServePodMetricsList serves GET on the metrics of the pods of a namespace or of all
// pods, without paging.
func (rq *request) ServePodMetricsList(ctx context.Context) error {
	return rq.listUsage(ctx, rq.podMetrics)
}

// ServeNodeMetricsList serves GET on the metrics of all nodes, without paging.
func (rq *request) ServeNodeMetricsList(ctx context.Context) error {
	return rq.listUsage(ctx, rq.nodeMetrics)
}

func (rq *request) listUsage(ctx context.Context, usage func(context.Context, labels.Selector, fields.Selector) (*page, error)) error {
	opts, err := rq.listOptions()
	if err != nil {
		return err
	}
	p, err := usage(ctx, opts.label, opts.field)
	if err != nil {
		return err
	}
	return rq.writeList(p)
}

// podMetrics returns the usage of the matching pods.
func (rq *request) podMetrics(ctx context.Context, label labels.Selector, field fields.Selector) (*page, error) {
	pods, err := usersOf[*corev1.Pod](ctx, rq, "pods", label, field)
	if err != nil {
		return nil, err
	}
	p := &page{}
	used, err := rq.server.opts.Metrics.PodMetrics(ctx, metricsWorld{rq.server}, pods)
	for _, m := range used {
		p.add(m)
	}
	return p, err
}

// nodeMetrics returns the usage of the matching nodes.
func (rq *request) nodeMetrics(ctx context.Context, label labels.Selector, field fields.Selector) (*page, error) {
	nodes, err := usersOf[*corev1.Node](ctx, rq, "nodes", label, field)
	if err != nil {
		return nil, err
	}
	p := &page{}
	used, err := rq.server.opts.Metrics.NodeMetrics(ctx, metricsWorld{rq.server}, nodes)
	for _, m := range used {
		p.add(m)
	}
	return p, err
}

// usersOf returns the matching objects of a core resource in the request's namespace.
func usersOf[T runtime.Object](ctx context.Context, rq *request, resource string, label labels.Selector, field fields.Selector) ([]T, error) {
	gvr := corev1.SchemeGroupVersion.WithResource(resource)
	row, objects := rq.server.table.Lookup(gvr), rq.server.stored[gvr]
	if row == nil || objects == nil {
		return nil, response.NotFound()
	}
	all, err := listed(ctx, row, objects, rq.Namespace, label, field)
	if err != nil {
		return nil, err
	}
	return typed[T](all), nil
}

// typed returns the objects that have type T.
func typed[T runtime.Object](objects []runtime.Object) []T {
	all := make([]T, 0, len(objects))
	for _, obj := range objects {
		if o, ok := obj.(T); ok {
			all = append(all, o)
		}
	}
	return all
}
