package resources

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func serviceCIDRRow() *Resource {
	kind := networkingv1.SchemeGroupVersion.WithKind("ServiceCIDR")
	newCIDR := func() runtime.Object { return &networkingv1.ServiceCIDR{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "servicecidrs",
		New:              newCIDR,
		NewList:          func() runtime.Object { return &networkingv1.ServiceCIDRList{} },
		Strategy: Strategy{
			StatusKeeps:    allMetadata,
			ValidateCreate: check(validation.ServiceCIDR),
			ValidateUpdate: checkUpdate(validation.ServiceCIDRUpdate),
		},
		Subresources: []Subresource{statusOf(kind, newCIDR)},
	}
}
