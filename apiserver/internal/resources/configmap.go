package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func configMapRow() *Resource {
	return &Resource{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		Plural:           "configmaps",
		ShortNames:       []string{"cm"},
		Namespaced:       true,
		New:              func() runtime.Object { return &corev1.ConfigMap{} },
		NewList:          func() runtime.Object { return &corev1.ConfigMapList{} },
		Strategy: Strategy{
			Validate:       check(validation.ConfigMap),
			ValidateUpdate: checkUpdate(validation.ConfigMapUpdate),
		},
	}
}
