package metricsapi

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/response"
)

// Usage returns the usage of the pods or nodes that the selectors match, for row, a row of
// metrics.k8s.io. Objects without data are omitted.
func (a *API) Usage(ctx context.Context, row *resources.Resource, namespace string, label labels.Selector, field fields.Selector) ([]runtime.Object, error) {
	all, err := a.objects.List(ctx, corev1.SchemeGroupVersion.WithResource(row.Plural), namespace, label, field)
	if errors.Is(err, ErrNotStored) {
		return nil, response.NotFound()
	}
	if err != nil {
		return nil, err
	}
	var found []runtime.Object
	if row.Namespaced {
		used, err := a.source.PodMetrics(ctx, a.world(), typed[*corev1.Pod](all))
		for _, m := range used {
			found = append(found, m)
		}
		return found, err
	}
	used, err := a.source.NodeMetrics(ctx, a.world(), typed[*corev1.Node](all))
	for _, m := range used {
		found = append(found, m)
	}
	return found, err
}

// UsageOf returns the usage of one pod or node. If there is no data for the object, it returns
// the error that metrics-server returns.
func (a *API) UsageOf(ctx context.Context, row *resources.Resource, namespace, name string) (runtime.Object, error) {
	found, err := a.Usage(ctx, row, namespace, labels.Everything(), fields.OneTermEqualSelector(metav1.ObjectNameField, name))
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		return found[0], nil
	}
	resource := "nodemetrics"
	if row.Namespaced {
		resource, name = "podmetrics", namespace+"/"+name
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: row.Group, Resource: resource}, name)
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
