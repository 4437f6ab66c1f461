package validation

import (
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// IPAddressName requires the canonical form of an address as the name of its object, so
// that each address has at most one object.
func IPAddressName(name string, _ bool) []string {
	address, err := netip.ParseAddr(name)
	switch {
	case err != nil || address.Zone() != "" || address.Is4In6():
		return []string{"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"}
	case address.String() != name:
		return []string{"must be a canonical format IP address"}
	}
	return nil
}

func IPAddress(a *networkingv1.IPAddress) field.ErrorList {
	p, ref := field.NewPath("spec", "parentRef"), a.Spec.ParentRef
	if ref == nil {
		return field.ErrorList{field.Required(p, "")}
	}
	errs := optional(p.Child("group"), ref.Group, isDNSSubdomain)
	errs = append(errs, requiredOr(p.Child("resource"), ref.Resource, isPathSegment)...)
	errs = append(errs, requiredOr(p.Child("name"), ref.Name, isPathSegment)...)
	return append(errs, optional(p.Child("namespace"), ref.Namespace, isPathSegment)...)
}

func IPAddressUpdate(a, old *networkingv1.IPAddress) field.ErrorList {
	return immutable(field.NewPath("spec", "parentRef"), a.Spec.ParentRef, old.Spec.ParentRef)
}
