package apiserver

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	custommetricsv1beta1 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta1"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"

	"minikcm.dev/minikcm/apiserver/codec"
	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/response"
	"minikcm.dev/minikcm/clock/inflight"
)

// anyRow returns the row that serves all resources of a group and version, or nil.
func (s *Server) anyRow(gv schema.GroupVersion) *resources.Resource {
	for _, row := range s.table.InVersion(gv) {
		if row.GetAny != nil {
			return row
		}
	}
	return nil
}

// serveAny serves GET on any resource of the row's group and version.
func (rq *request) serveAny() error {
	if rq.r.Method != http.MethodGet {
		return response.MethodNotAllowed()
	}
	target, ok := codec.Negotiate(rq.r.Header.Get("Accept"), nil)
	if !ok {
		return response.NotAcceptable()
	}
	rq.target = target
	defer inflight.Begin(rq.server.opts.Ledger, inflight.Request).End()
	ctx, cancel := context.WithTimeout(rq.r.Context(), requestTimeout)
	defer cancel()
	return rq.row.GetAny(ctx, rq)
}

// ServeExternalMetrics serves GET namespaces/NAMESPACE/METRIC: the series whose labels match.
func (rq *request) ServeExternalMetrics(ctx context.Context) error {
	if rq.Namespace == "" || rq.Name != "" {
		return response.NotFound()
	}
	selector, err := labels.Parse(rq.query.Get("labelSelector"))
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	series, err := rq.server.opts.Metrics.ExternalMetrics(ctx, metricsWorld{rq.server}, rq.Namespace, rq.GVR.Resource)
	if err != nil {
		return err
	}
	list := &externalmetricsv1beta1.ExternalMetricValueList{Items: []externalmetricsv1beta1.ExternalMetricValue{}}
	for i := range series {
		if selector.Matches(labels.Set(series[i].MetricLabels)) {
			list.Items = append(list.Items, series[i])
		}
	}
	return rq.writeObject(http.StatusOK, rq.row.GroupVersionKind, list)
}

// metricOf is the object and the metric of a custom metrics request.
type metricOf struct {
	resource     schema.GroupResource
	name, metric string
}

// described parses RESOURCE.GROUP/NAME/METRIC, namespaced or not, and
// namespaces/NAME/metrics/METRIC, which is a metric of the namespace itself.
func (rq *request) described() (metricOf, bool) {
	if rq.GVR.Resource == "metrics" && rq.Subresource == "" {
		return metricOf{schema.GroupResource{Resource: "namespaces"}, rq.Namespace, rq.Name}, rq.Namespace != "" && rq.Name != ""
	}
	return metricOf{schema.ParseGroupResource(rq.GVR.Resource), rq.Name, rq.Subresource}, rq.Name != "" && rq.Subresource != ""
}

// ServeCustomMetrics responds with a metric's values for one object by name or, for the
// name *, for the objects whose labels match.
func (rq *request) ServeCustomMetrics(ctx context.Context) error {
	about, ok := rq.described()
	if !ok {
		return response.NotFound()
	}
	selector, err := labels.Parse(rq.query.Get("labelSelector"))
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	metricSelector, err := labels.Parse(rq.query.Get("metricLabelSelector"))
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	row, objects, err := rq.metricObjects(ctx, about, selector)
	if err != nil {
		return err
	}
	values, err := rq.values(ctx, row, objects, about.metric, metricSelector)
	if err != nil {
		return err
	}
	if len(values) == 0 {
		return metricNotFound(about)
	}
	if rq.row.Version == custommetricsv1beta1.SchemeGroupVersion.Version {
		return rq.writeObject(http.StatusOK, rq.row.GroupVersionKind, olderValues(values))
	}
	return rq.writeObject(http.StatusOK, rq.row.GroupVersionKind, &custommetricsv1beta2.MetricValueList{Items: values})
}

// metricNotFound returns the error of custom metrics adapters.
func metricNotFound(about metricOf) error {
	message := fmt.Sprintf("the server could not find the metric %s for %s", about.metric, about.resource)
	if about.name != custommetricsv1beta2.AllObjects {
		message += " " + about.name
	}
	return response.NewStatus(http.StatusNotFound, metav1.StatusReasonNotFound, message)
}

// metricObjects returns the objects of a request.
func (rq *request) metricObjects(ctx context.Context, about metricOf, selector labels.Selector) (*resources.Resource, []runtime.Object, error) {
	row := preferredRow(rq.server.current().table, about.resource)
	if row == nil || rq.GVR.Resource != "metrics" && row.Namespaced != (rq.Namespace != "") {
		return nil, nil, metricNotFound(about)
	}
	found := rq.server.find(row.GVR(), false)
	defer found.leave()
	if found.row == nil || found.objects == nil {
		return nil, nil, metricNotFound(about)
	}
	field := fields.Everything()
	if about.name != custommetricsv1beta2.AllObjects {
		selector, field = labels.Everything(), fields.OneTermEqualSelector(metav1.ObjectNameField, about.name)
	}
	all, err := listed(ctx, found.row, found.objects, rq.Namespace, selector, field)
	if err == nil && len(all) == 0 && about.name != custommetricsv1beta2.AllObjects {
		err = apierrors.NewNotFound(about.resource, about.name)
	}
	return row, all, err
}

// preferredRow returns the row of a resource in its group's preferred version.
func preferredRow(table *resources.Table, resource schema.GroupResource) *resources.Resource {
	for _, group := range table.Groups() {
		if group.Name != resource.Group {
			continue
		}
		for _, version := range group.Versions {
			if row := table.Lookup(resource.WithVersion(version)); row != nil && row.IsStored() {
				return row
			}
		}
	}
	return nil
}

func (rq *request) values(ctx context.Context, row *resources.Resource, objects []runtime.Object, metric string, selector labels.Selector) ([]custommetricsv1beta2.MetricValue, error) {
	if !selector.Matches(labels.Set{}) {
		return nil, nil // the metrics have no labels
	}
	all := make([]metav1.Object, 0, len(objects))
	for _, obj := range objects {
		o, err := meta.Accessor(obj)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		all = append(all, o)
	}
	samples, err := rq.server.opts.Metrics.ObjectMetrics(ctx, metricsWorld{rq.server}, all, metric)
	if err != nil {
		return nil, err
	}
	var values []custommetricsv1beta2.MetricValue
	for i, sample := range samples {
		if sample == nil {
			continue
		}
		values = append(values, custommetricsv1beta2.MetricValue{
			DescribedObject: corev1.ObjectReference{
				Kind: row.Kind, APIVersion: row.GroupVersion().String(), Namespace: all[i].GetNamespace(), Name: all[i].GetName(),
			},
			Metric:    custommetricsv1beta2.MetricIdentifier{Name: metric},
			Timestamp: metav1.NewTime(sample.Timestamp),
			Value:     sample.Value,
		})
	}
	return values, nil
}

// olderValues converts the values to v1beta1.
func olderValues(values []custommetricsv1beta2.MetricValue) *custommetricsv1beta1.MetricValueList {
	list := &custommetricsv1beta1.MetricValueList{Items: make([]custommetricsv1beta1.MetricValue, len(values))}
	for i := range values {
		v := &values[i]
		list.Items[i] = custommetricsv1beta1.MetricValue{
			DescribedObject: v.DescribedObject, MetricName: v.Metric.Name, Selector: v.Metric.Selector,
			Timestamp: v.Timestamp, WindowSeconds: v.WindowSeconds, Value: v.Value,
		}
	}
	return list
}
