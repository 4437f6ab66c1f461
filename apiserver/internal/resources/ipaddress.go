package resources

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func ipAddressRow() *Resource {
	return &Resource{
		GroupVersionKind: networkingv1.SchemeGroupVersion.WithKind("IPAddress"),
		Plural:           "ipaddresses",
		ShortNames:       []string{"ip"},
		New:              func() runtime.Object { return &networkingv1.IPAddress{} },
		NewList:          func() runtime.Object { return &networkingv1.IPAddressList{} },
		Strategy: Strategy{
			NameCheck:      validation.IPAddressName,
			Validate:       check(validation.IPAddress),
			ValidateUpdate: checkUpdate(validation.IPAddressUpdate),
		},
	}
}
