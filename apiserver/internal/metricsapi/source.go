package metricsapi

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// Source provides the usage of pods and nodes and the metrics of objects;
// upstream, separate servers get them from kubelets and monitoring systems.
// Implementations must not modify their arguments. Errors are returned to the client as
// a Status.
type Source interface {
	// PodMetrics and NodeMetrics keep the order of the arguments and omit those without
	// data.
	PodMetrics(ctx context.Context, world World, pods []*corev1.Pod) ([]*metricsv1beta1.PodMetrics, error)
	NodeMetrics(ctx context.Context, world World, nodes []*corev1.Node) ([]*metricsv1beta1.NodeMetrics, error)
	// ObjectMetrics returns one value for each of the objects, which are of one kind;
	// nil for objects without the metric.
	ObjectMetrics(ctx context.Context, world World, objects []metav1.Object, metric string) ([]*Sample, error)
	// ExternalMetrics returns all series of a metric in a namespace.
	ExternalMetrics(ctx context.Context, world World, namespace, metric string) ([]externalmetricsv1beta1.ExternalMetricValue, error)
	// MetricNames returns the names of the metrics that an object provides.
	MetricNames(o metav1.Object) Names
}

// Sample is the value of a metric at a time.
type Sample struct {
	Value     resource.Quantity
	Timestamp time.Time
}

// World gives a Source access to the objects of the API.
type World interface {
	// List returns the objects of a built-in resource in a namespace, or in all
	// namespaces if it is empty. They are shared and must not be modified.
	List(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]runtime.Object, error)
}

// Names are the names of the metrics that an object provides: for itself, for the
// pods that it selects, and external ones for its namespace.
type Names struct{ Own, OfPods, External []string }
