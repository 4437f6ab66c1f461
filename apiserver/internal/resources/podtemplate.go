package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func podTemplateRow() *Resource {
	return &Resource{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("PodTemplate"),
		Plural:           "podtemplates",
		Namespaced:       true,
		New:              func() runtime.Object { return &corev1.PodTemplate{} },
		NewList:          func() runtime.Object { return &corev1.PodTemplateList{} },
		Strategy: Strategy{
			ReturnDeleted: true,
			Default:       on(func(t *corev1.PodTemplate) { defaultPodSpec(&t.Template.Spec) }),
			Generation:    true,
			Warnings:      warn(warnings.PodTemplate),
			Validate:      check(validation.PodTemplate),
		},
	}
}
