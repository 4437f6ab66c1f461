package podautoscaler

import (
	"context"
	"errors"
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	custommetrics "k8s.io/metrics/pkg/client/custom_metrics"
	externalmetrics "k8s.io/metrics/pkg/client/external_metrics"

	"minikcm.dev/minikcm/controllers/internal/podautoscaler/decide"
)

// defaultWindow is the window of a value that does not specify one.
const defaultWindow = time.Minute

// reader reads metrics from the three metrics APIs.
type reader struct {
	resources metricsclient.MetricsV1beta1Interface
	custom    custommetrics.CustomMetricsClient
	external  externalmetrics.ExternalMetricsClient
}

func newReader(config *rest.Config, mapper meta.RESTMapper) (*reader, error) {
	resources, err := metricsclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client of metrics.k8s.io: %w", err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the discovery client: %w", err)
	}
	external, err := externalmetrics.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client of external.metrics.k8s.io: %w", err)
	}
	custom := custommetrics.NewForConfig(config, mapper, custommetrics.NewAvailableAPIsGetter(client))
	return &reader{resources: resources, custom: custom, external: external}, nil
}

// read reads one metric of an autoscaler for the pods of its target.
func (r *reader) read(ctx context.Context, namespace string, pods labels.Selector, m *autoscalingv2.MetricSpec) decide.Reading {
	switch {
	case m.Resource != nil:
		return r.usage(ctx, namespace, pods, m.Resource.Name, "")
	case m.ContainerResource != nil:
		return r.usage(ctx, namespace, pods, m.ContainerResource.Name, m.ContainerResource.Container)
	case m.Pods != nil:
		return r.ofPods(namespace, pods, m.Pods.Metric)
	case m.Object != nil:
		return r.ofObject(namespace, m.Object)
	case m.External != nil:
		return r.ofOthers(namespace, m.External.Metric)
	}
	return decide.Reading{}
}

func (r *reader) usage(ctx context.Context, namespace string, pods labels.Selector, resource corev1.ResourceName, container string) decide.Reading {
	list, err := r.resources.PodMetricses(namespace).List(ctx, metav1.ListOptions{LabelSelector: pods.String()})
	if err != nil {
		return decide.Reading{Err: fmt.Errorf("unable to fetch metrics from resource metrics API: %w", err)}
	}
	if len(list.Items) == 0 {
		return decide.Reading{Err: errors.New("no metrics returned from resource metrics API")}
	}
	metrics := make(map[string]decide.PodMetric, len(list.Items))
	for i := range list.Items {
		item := &list.Items[i]
		if value, known := usedBy(item, resource, container); known {
			metrics[item.Name] = decide.PodMetric{Value: value, Timestamp: item.Timestamp.Time, Window: item.Window.Duration}
		}
	}
	return decide.Reading{Pods: metrics}
}

// usedBy returns the usage of a pod or, if it is named, of one container. known is false if
// a value is missing.
func usedBy(m *metricsv1beta1.PodMetrics, resource corev1.ResourceName, container string) (value int64, known bool) {
	for i := range m.Containers {
		c := &m.Containers[i]
		if container != "" && container != c.Name {
			continue
		}
		used, ok := c.Usage[resource]
		if !ok {
			return 0, false
		}
		value, known = value+used.MilliValue(), true
	}
	return value, known
}

func (r *reader) ofPods(namespace string, pods labels.Selector, metric autoscalingv2.MetricIdentifier) decide.Reading {
	selector, err := metav1.LabelSelectorAsSelector(metric.Selector)
	if err != nil {
		return decide.Reading{Err: err}
	}
	list, err := r.custom.NamespacedMetrics(namespace).GetForObjects(schema.GroupKind{Kind: "Pod"}, pods, metric.Name, metricSelector(selector))
	if err != nil {
		return decide.Reading{Err: fmt.Errorf("unable to fetch metrics from custom metrics API: %w", err)}
	}
	if len(list.Items) == 0 {
		return decide.Reading{Err: errors.New("no metrics returned from custom metrics API")}
	}
	metrics := make(map[string]decide.PodMetric, len(list.Items))
	for i := range list.Items {
		item := &list.Items[i]
		window := defaultWindow
		if item.WindowSeconds != nil {
			window = time.Duration(*item.WindowSeconds) * time.Second
		}
		metrics[item.DescribedObject.Name] = decide.PodMetric{Value: item.Value.MilliValue(), Timestamp: item.Timestamp.Time, Window: window}
	}
	return decide.Reading{Pods: metrics}
}

// metricSelector returns the selector to send: an empty one for a metric without selector.
func metricSelector(selector labels.Selector) labels.Selector {
	if selector.Empty() {
		return labels.Everything()
	}
	return selector
}

func (r *reader) ofObject(namespace string, m *autoscalingv2.ObjectMetricSource) decide.Reading {
	selector, err := metav1.LabelSelectorAsSelector(m.Metric.Selector)
	if err != nil {
		return decide.Reading{Err: err}
	}
	kind := schema.FromAPIVersionAndKind(m.DescribedObject.APIVersion, m.DescribedObject.Kind).GroupKind()
	var value *custommetricsv1beta2.MetricValue
	if kind == (schema.GroupKind{Kind: "Namespace"}) {
		// Whatever its name is: an autoscaler reads metrics of its own namespace only.
		value, err = r.custom.RootScopedMetrics().GetForObject(kind, namespace, m.Metric.Name, metricSelector(selector))
	} else {
		value, err = r.custom.NamespacedMetrics(namespace).GetForObject(kind, m.DescribedObject.Name, m.Metric.Name, metricSelector(selector))
	}
	if err != nil {
		return decide.Reading{Err: fmt.Errorf("unable to fetch metrics from custom metrics API: %w", err)}
	}
	return decide.Reading{Values: []int64{value.Value.MilliValue()}}
}

func (r *reader) ofOthers(namespace string, metric autoscalingv2.MetricIdentifier) decide.Reading {
	selector, err := metav1.LabelSelectorAsSelector(metric.Selector)
	if err != nil {
		return decide.Reading{Err: err}
	}
	list, err := r.external.NamespacedMetrics(namespace).List(metric.Name, metricSelector(selector))
	if err != nil {
		return decide.Reading{Err: fmt.Errorf("unable to fetch metrics from external metrics API: %w", err)}
	}
	if len(list.Items) == 0 {
		return decide.Reading{Err: errors.New("no metrics returned from external metrics API")}
	}
	values := make([]int64, len(list.Items))
	for i := range list.Items {
		values[i] = list.Items[i].Value.MilliValue()
	}
	return decide.Reading{Values: values}
}
