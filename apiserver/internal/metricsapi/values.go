package metricsapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

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
	externalmetrics "k8s.io/metrics/pkg/apis/external_metrics"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"

	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/response"
)

// ValuesRequest is a GET for the values of a metric.
type ValuesRequest struct {
	// Row is the row of the version of the API.
	Row *resources.Resource
	// The other fields are as in a request for a resource with that path: Resource is the name
	// of an external metric, or the resource that has the custom metric named Subresource.
	Resource, Namespace, Name, Subresource string
	Query                                  url.Values
}

// Values returns the values of a metric, as an object of the row's kind.
func (a *API) Values(ctx context.Context, rq *ValuesRequest) (runtime.Object, error) {
	if rq.Row.Group == externalmetrics.GroupName {
		return a.external(ctx, rq)
	}
	return a.custom(ctx, rq)
}

// external returns, for namespaces/NAMESPACE/METRIC, the series whose labels match.
func (a *API) external(ctx context.Context, rq *ValuesRequest) (runtime.Object, error) {
	if rq.Namespace == "" || rq.Name != "" {
		return nil, response.NotFound()
	}
	selector, err := labels.Parse(rq.Query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	series, err := a.source.ExternalMetrics(ctx, a.world(), rq.Namespace, rq.Resource)
	if err != nil {
		return nil, err
	}
	list := &externalmetricsv1beta1.ExternalMetricValueList{Items: []externalmetricsv1beta1.ExternalMetricValue{}}
	for i := range series {
		if selector.Matches(labels.Set(series[i].MetricLabels)) {
			list.Items = append(list.Items, series[i])
		}
	}
	return list, nil
}

// metricOf is the object and the metric of a custom metrics request.
type metricOf struct {
	resource     schema.GroupResource
	name, metric string
}

// about parses RESOURCE.GROUP/NAME/METRIC, namespaced or not, and
// namespaces/NAME/metrics/METRIC, which is a metric of the namespace itself.
func (rq *ValuesRequest) about() (metricOf, bool) {
	if rq.Resource == "metrics" && rq.Subresource == "" {
		return metricOf{schema.GroupResource{Resource: "namespaces"}, rq.Namespace, rq.Name}, rq.Namespace != "" && rq.Name != ""
	}
	return metricOf{schema.ParseGroupResource(rq.Resource), rq.Name, rq.Subresource}, rq.Name != "" && rq.Subresource != ""
}

// custom returns a metric's values for one object by name or, for the name
// *, for the objects whose labels match.
func (a *API) custom(ctx context.Context, rq *ValuesRequest) (runtime.Object, error) {
	about, ok := rq.about()
	if !ok {
		return nil, response.NotFound()
	}
	selector, err := labels.Parse(rq.Query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	metricSelector, err := labels.Parse(rq.Query.Get("metricLabelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	row, objects, err := a.described(ctx, rq, about, selector)
	if err != nil {
		return nil, err
	}
	values, err := a.values(ctx, row, objects, about.metric, metricSelector)
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, metricNotFound(about)
	}
	if rq.Row.Version == custommetricsv1beta1.SchemeGroupVersion.Version {
		return olderValues(values), nil
	}
	return &custommetricsv1beta2.MetricValueList{Items: values}, nil
}

// metricNotFound returns the error of custom metrics adapters.
func metricNotFound(about metricOf) error {
	message := fmt.Sprintf("the server could not find the metric %s for %s", about.metric, about.resource)
	if about.name != custommetricsv1beta2.AllObjects {
		message += " " + about.name
	}
	return response.NewStatus(http.StatusNotFound, metav1.StatusReasonNotFound, message)
}

// described returns the objects of a request.
func (a *API) described(ctx context.Context, rq *ValuesRequest, about metricOf, selector labels.Selector) (*resources.Resource, []runtime.Object, error) {
	row := a.objects.Preferred(about.resource)
	if row == nil || rq.Resource != "metrics" && row.Namespaced != (rq.Namespace != "") {
		return nil, nil, metricNotFound(about)
	}
	field := fields.Everything()
	if about.name != custommetricsv1beta2.AllObjects {
		selector, field = labels.Everything(), fields.OneTermEqualSelector(metav1.ObjectNameField, about.name)
	}
	all, err := a.objects.List(ctx, row.GVR(), rq.Namespace, selector, field)
	if errors.Is(err, ErrNotStored) {
		return nil, nil, metricNotFound(about)
	}
	if err == nil && len(all) == 0 && about.name != custommetricsv1beta2.AllObjects {
		err = apierrors.NewNotFound(about.resource, about.name)
	}
	return row, all, err
}

func (a *API) values(ctx context.Context, row *resources.Resource, objects []runtime.Object, metric string, selector labels.Selector) ([]custommetricsv1beta2.MetricValue, error) {
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
	samples, err := a.source.ObjectMetrics(ctx, a.world(), all, metric)
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
