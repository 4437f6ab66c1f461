package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
)

func serviceAccountRow() *Resource {
	return &Resource{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
		Plural:           "serviceaccounts",
		ShortNames:       []string{"sa"},
		Namespaced:       true,
		New:              func() runtime.Object { return &corev1.ServiceAccount{} },
		NewList:          func() runtime.Object { return &corev1.ServiceAccountList{} },
		Strategy:         Strategy{NameCheck: validation.ValidateServiceAccountName},
	}
}
