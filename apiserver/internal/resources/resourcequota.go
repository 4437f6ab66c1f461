package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func resourceQuotaRow() *Resource {
	kind := corev1.SchemeGroupVersion.WithKind("ResourceQuota")
	newQuota := func() runtime.Object { return &corev1.ResourceQuota{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "resourcequotas",
		ShortNames:       []string{"quota"},
		Namespaced:       true,
		New:              newQuota,
		NewList:          func() runtime.Object { return &corev1.ResourceQuotaList{} },
		Strategy: Strategy{
			ReturnDeleted:        true,
			Default:              on(defaultQuota),
			Warnings:             warn(warnings.ResourceQuota),
			Validate:             check(validation.ResourceQuota),
			ValidateUpdate:       checkUpdate(validation.ResourceQuotaUpdate),
			ValidateStatusUpdate: checkUpdate(validation.ResourceQuotaStatus),
		},
		Subresources: []Subresource{statusOf(kind, newQuota)},
	}
}

func defaultQuota(q *corev1.ResourceQuota) {
	roundUp(q.Spec.Hard)
	roundUp(q.Status.Hard)
	roundUp(q.Status.Used)
}
