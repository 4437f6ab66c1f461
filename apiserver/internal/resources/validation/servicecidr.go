package validation

import (
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func ServiceCIDR(s *networkingv1.ServiceCIDR) field.ErrorList {
	p, cidrs := field.NewPath("spec", "cidrs"), s.Spec.CIDRs
	if len(cidrs) == 0 {
		return field.ErrorList{field.Required(p, "at least one CIDR required")}
	}
	var errs field.ErrorList
	if len(cidrs) > 2 {
		errs = append(errs, field.Invalid(p, s.Spec, "may only hold up to 2 values"))
	}
	families := map[bool]int{}
	for i, text := range cidrs {
		errs = append(errs, validation.IsValidCIDR(p.Index(i), text)...)
		if prefix, err := netip.ParsePrefix(text); err == nil {
			families[prefix.Addr().Is4()]++
		}
	}
	if len(cidrs) == 2 && len(families) == 1 && families[true]+families[false] == 2 {
		errs = append(errs, field.Invalid(p, s.Spec, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/96"))
	}
	return errs
}

// ServiceCIDRUpdate allows a single-stack ServiceCIDR to get a second range of
// the other family.
func ServiceCIDRUpdate(s, old *networkingv1.ServiceCIDR) field.ErrorList {
	now, was, p := s.Spec.CIDRs, old.Spec.CIDRs, field.NewPath("spec", "cidrs")
	if len(was) == 1 && len(now) == 2 {
		if now[0] == was[0] {
			return ServiceCIDR(s)
		}
		return immutable(p.Index(0), now[0], was[0])
	}
	if len(now) != len(was) {
		return immutable(p, now, was)
	}
	var errs field.ErrorList
	for i := range now {
		errs = append(errs, immutable(p.Index(i), now[i], was[i])...)
	}
	return errs
}
