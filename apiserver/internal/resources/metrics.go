package resources

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	custommetricsv1beta1 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta1"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// MetricsRows returns the kinds that metrics-server and the adapters of custom and
// external metrics add to a cluster: read-only and not stored.
func MetricsRows() []*Resource {
	return []*Resource{
		nodeMetricsRow(),
		podMetricsRow(),
		// In these groups resources are named by metrics, so each version has one row
		// for all of them. "metrics" is the resource of a namespace's own metrics,
		// "externalmetrics" the resource that adapters list instead.
		customMetricsRow(custommetricsv1beta2.SchemeGroupVersion,
			func() runtime.Object { return &custommetricsv1beta2.MetricValueList{} }),
		customMetricsRow(custommetricsv1beta1.SchemeGroupVersion,
			func() runtime.Object { return &custommetricsv1beta1.MetricValueList{} }),
		externalMetricsRow(),
	}
}

func customMetricsRow(gv schema.GroupVersion, list func() runtime.Object) *Resource {
	row := metricValuesRow(gv.WithKind("MetricValueList"), "metrics", list)
	row.GetAny = serve(Request.ServeMetricValues)
	return row
}

func externalMetricsRow() *Resource {
	row := metricValuesRow(externalmetricsv1beta1.SchemeGroupVersion.WithKind("ExternalMetricValueList"), "externalmetrics",
		func() runtime.Object { return &externalmetricsv1beta1.ExternalMetricValueList{} })
	row.GetAny = serve(Request.ServeMetricValues)
	return row
}

func metricValuesRow(kind schema.GroupVersionKind, plural string, list func() runtime.Object) *Resource {
	return &Resource{
		GroupVersionKind: kind, ListKind: kind.Kind, Plural: plural, Namespaced: true, Verbs: []string{"get"},
		New: list, NewList: list,
	}
}

func nodeMetricsRow() *Resource {
	return &Resource{
		GroupVersionKind: metricsv1beta1.SchemeGroupVersion.WithKind("NodeMetrics"),
		Plural:           "nodes",
		Verbs:            []string{"get", "list"},
		Get:              serve(Request.ServeUsage),
		List:             serve(Request.ServeUsageList),
		New:              func() runtime.Object { return &metricsv1beta1.NodeMetrics{} },
		NewList:          func() runtime.Object { return &metricsv1beta1.NodeMetricsList{} },
		Columns:          usageColumns(),
		Cells: func(obj runtime.Object, _ time.Time) []any {
			m, ok := obj.(*metricsv1beta1.NodeMetrics)
			if !ok {
				return nil
			}
			return usageCells(m.Name, m.Window, m.Usage)
		},
	}
}

func podMetricsRow() *Resource {
	return &Resource{
		GroupVersionKind: metricsv1beta1.SchemeGroupVersion.WithKind("PodMetrics"),
		Plural:           "pods",
		Namespaced:       true,
		Verbs:            []string{"get", "list"},
		Get:              serve(Request.ServeUsage),
		List:             serve(Request.ServeUsageList),
		New:              func() runtime.Object { return &metricsv1beta1.PodMetrics{} },
		NewList:          func() runtime.Object { return &metricsv1beta1.PodMetricsList{} },
		Columns:          usageColumns(),
		Cells: func(obj runtime.Object, _ time.Time) []any {
			m, ok := obj.(*metricsv1beta1.PodMetrics)
			if !ok {
				return nil
			}
			all := make([]corev1.ResourceList, len(m.Containers))
			for i := range m.Containers {
				all[i] = m.Containers[i].Usage
			}
			return usageCells(m.Name, m.Window, all...)
		},
	}
}

// usedResources are the columns between the name and the window.
func usedResources() []corev1.ResourceName {
	return []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}
}

func usageColumns() []metav1.TableColumnDefinition {
	list := []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name", Description: "Name of the resource"}}
	for _, name := range usedResources() {
		list = append(list, metav1.TableColumnDefinition{Name: string(name), Type: "string", Format: "quantity"})
	}
	return append(list, metav1.TableColumnDefinition{Name: "Window", Type: "string", Format: "duration"})
}

func usageCells(name string, window metav1.Duration, usages ...corev1.ResourceList) []any {
	cells := []any{name}
	for _, of := range usedResources() {
		var total resource.Quantity
		for _, usage := range usages {
			total.Add(usage[of])
		}
		cells = append(cells, total.String())
	}
	return slices.Concat(cells, []any{window.Duration.String()})
}
