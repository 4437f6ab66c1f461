package resources

import (
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func ipAddressRow() *Resource {
	return &Resource{
		GroupVersionKind: networkingv1.SchemeGroupVersion.WithKind("IPAddress"),
		Plural:           "ipaddresses",
		ShortNames:       []string{"ip"},
		New:              func() runtime.Object { return &networkingv1.IPAddress{} },
		NewList:          func() runtime.Object { return &networkingv1.IPAddressList{} },
		Strategy: Strategy{
			NameCheck:      isAddressName,
			Validate:       check(validateIPAddress),
			ValidateUpdate: checkUpdate(validateIPAddressUpdate),
		},
	}
}

// isAddressName requires the canonical form of an address as the name of its object, so
// that each address has at most one object.
func isAddressName(name string, _ bool) []string {
	address, err := netip.ParseAddr(name)
	switch {
	case err != nil || address.Zone() != "" || address.Is4In6():
		return []string{"not a valid ip address"}
	case address.String() != name:
		return []string{"must be a canonical format IP address"}
	}
	return nil
}

func validateIPAddress(a *networkingv1.IPAddress) field.ErrorList {
	p, ref := field.NewPath("spec", "parentRef"), a.Spec.ParentRef
	if ref == nil {
		return field.ErrorList{field.Required(p, "")}
	}
	errs := optional(p.Child("group"), ref.Group, isDNSSubdomain)
	errs = append(errs, requiredOr(p.Child("resource"), ref.Resource, isPathSegment)...)
	errs = append(errs, requiredOr(p.Child("name"), ref.Name, isPathSegment)...)
	return append(errs, optional(p.Child("namespace"), ref.Namespace, isPathSegment)...)
}

func validateIPAddressUpdate(a, old *networkingv1.IPAddress) field.ErrorList {
	return immutable(field.NewPath("spec", "parentRef"), a.Spec.ParentRef, old.Spec.ParentRef)
}
