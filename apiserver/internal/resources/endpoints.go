package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func endpointsRow() *Resource {
	return &Resource{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Endpoints"),
		Plural:           "endpoints",
		ShortNames:       []string{"ep"},
		StoragePrefix:    "services/endpoints",
		Namespaced:       true,
		New:              func() runtime.Object { return &corev1.Endpoints{} },
		NewList:          func() runtime.Object { return &corev1.EndpointsList{} },
		Warning:          "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
		Strategy: Strategy{
			Default:             on(defaultEndpoints),
			Warnings:            always(warnings.Endpoints),
			Validate:            check(validation.Endpoints),
			AllowCreateOnUpdate: true,
		},
	}
}

func defaultEndpoints(e *corev1.Endpoints) {
	for i := range e.Subsets {
		for j := range e.Subsets[i].Ports {
			setDefault(&e.Subsets[i].Ports[j].Protocol, corev1.ProtocolTCP)
		}
	}
}
