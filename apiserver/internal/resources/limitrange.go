package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func limitRangeRow() *Resource {
	return &Resource{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("LimitRange"),
		Plural:           "limitranges",
		ShortNames:       []string{"limits"},
		Namespaced:       true,
		New:              func() runtime.Object { return &corev1.LimitRange{} },
		NewList:          func() runtime.Object { return &corev1.LimitRangeList{} },
		Strategy: Strategy{
			Default:             on(defaultLimitRange),
			PrepareCreate:       on(nameLimitRange),
			Validate:            check(validation.LimitRange),
			AllowCreateOnUpdate: true,
		},
	}
}

// defaultLimitRange derives the defaults of containers from their limits.
func defaultLimitRange(l *corev1.LimitRange) {
	for i := range l.Spec.Limits {
		item := &l.Spec.Limits[i]
		for _, list := range []corev1.ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
			roundUp(list)
		}
		if item.Type == corev1.LimitTypeContainer {
			fillFrom(&item.Default, item.Max)
			fillFrom(&item.DefaultRequest, item.Default)
			fillFrom(&item.DefaultRequest, item.Min)
		}
	}
}

// nameLimitRange uses the UID as the name of an unnamed LimitRange.
func nameLimitRange(l *corev1.LimitRange) {
	if l.Name == "" {
		l.Name = string(l.UID)
	}
}

// fillFrom adds the entries of other that list does not have.
func fillFrom(list *corev1.ResourceList, other corev1.ResourceList) {
	for name, quantity := range other {
		if _, has := (*list)[name]; has {
			continue
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = quantity.DeepCopy()
	}
}
