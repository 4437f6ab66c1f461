package metricsapi

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	externalmetrics "k8s.io/metrics/pkg/apis/external_metrics"
)

// namedIn returns the resources whose objects are searched for names of metrics.
// Metrics of other resources are served but not listed.
func namedIn() []schema.GroupVersionResource {
	core, apps := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion
	return []schema.GroupVersionResource{
		core.WithResource("pods"), core.WithResource("services"), core.WithResource("namespaces"), core.WithResource("configmaps"),
		apps.WithResource("deployments"), apps.WithResource("statefulsets"),
	}
}

// Discovery returns the names of the metrics that exist as the resources of a version of
// the custom or external metrics API, as adapters do. kind is the kind of their values.
func (a *API) Discovery(ctx context.Context, gv schema.GroupVersion, kind string) (*metav1.APIResourceList, error) {
	names, external, err := a.names(ctx)
	if err != nil {
		return nil, err
	}
	if gv.Group == externalmetrics.GroupName {
		names = external
	}
	list := &metav1.APIResourceList{GroupVersion: gv.String(), APIResources: []metav1.APIResource{}}
	for _, name := range names {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: name, Namespaced: !strings.HasPrefix(name, "namespaces/"), Kind: kind, Verbs: []string{"get"},
		})
	}
	return list, nil
}

// names returns the names of the custom and external metrics for the discovery,
// sorted.
func (a *API) names(ctx context.Context) (custom, external []string, err error) {
	world := a.world()
	for _, gvr := range namedIn() {
		objects, err := world.List(ctx, gvr, "")
		if err != nil {
			return nil, nil, err
		}
		for _, obj := range objects {
			o, err := meta.Accessor(obj)
			if err != nil {
				return nil, nil, err
			}
			names := a.source.MetricNames(o)
			custom = appendNames(custom, gvr.GroupResource().String(), names.Own)
			custom = appendNames(custom, "pods", names.OfPods)
			external = append(external, names.External...)
		}
	}
	slices.Sort(custom)
	slices.Sort(external)
	return slices.Compact(custom), slices.Compact(external), nil
}

func appendNames(all []string, resource string, names []string) []string {
	for _, name := range names {
		all = append(all, resource+"/"+name)
	}
	return all
}
