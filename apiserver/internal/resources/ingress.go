package resources

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func ingressRow() *Resource {
	kind := networkingv1.SchemeGroupVersion.WithKind("Ingress")
	newIngress := func() runtime.Object { return &networkingv1.Ingress{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "ingresses",
		ShortNames:       []string{"ing"},
		StoragePrefix:    "ingress",
		Namespaced:       true,
		New:              newIngress,
		NewList:          func() runtime.Object { return &networkingv1.IngressList{} },
		Strategy: Strategy{
			Generation:           true,
			Validate:             check(validation.Ingress),
			ValidateStatusUpdate: checkUpdate(validation.IngressStatus),
			Warnings:             warn(warnings.Ingress),
		},
		Subresources: []Subresource{statusOf(kind, newIngress)},
	}
}
