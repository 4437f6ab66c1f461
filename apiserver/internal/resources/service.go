package resources

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func serviceRow() *Resource {
	kind := corev1.SchemeGroupVersion.WithKind("Service")
	newService := func() runtime.Object { return &corev1.Service{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "services",
		ShortNames:       []string{"svc"},
		Categories:       []string{"all"},
		StoragePrefix:    "services/specs",
		Namespaced:       true,
		New:              newService,
		NewList:          func() runtime.Object { return &corev1.ServiceList{} },
		SelectableFields: []string{"spec.clusterIP", "spec.type"},
		Field:            fieldOf(serviceField),
		Strategy: Strategy{
			ReturnDeleted:        true,
			Reserve:              Reservations.ReserveService,
			Default:              on(defaultService),
			PrepareCreate:        on(prepareService),
			PrepareUpdate:        onUpdate(prepareServiceUpdate),
			Warnings:             always(warnings.Service),
			Validate:             check(validation.Service),
			ValidateCreate:       check(validation.ServiceCreate),
			ValidateUpdate:       checkUpdate(validation.ServiceUpdate),
			ValidateStatusUpdate: checkUpdate(validation.ServiceStatus),
			NameCheck:            apivalidation.NameIsDNSLabel,
			AllowCreateOnUpdate:  true,
		},
		Subresources: []Subresource{proxy("ServiceProxyOptions", serve(Request.ServeProxyToService)), statusOf(kind, newService)},
	}
}

func serviceField(s *corev1.Service, label string) string {
	switch label {
	case "spec.clusterIP":
		return s.Spec.ClusterIP
	case "spec.type":
		return string(s.Spec.Type)
	}
	return ""
}
