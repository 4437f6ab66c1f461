package serviceip

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilnet "k8s.io/utils/net"
)

// fillFamilies sets a Service's IP families and their policy from the client's request,
// the old Service, and the cluster's families (Kubernetes documentation, "IPv4/IPv6
// dual-stack"). configured are the cluster's families, the default one first. old is
// nil for a new Service.
func fillFamilies(svc, old *corev1.Service, configured []corev1.IPFamily) field.ErrorList {
	spec := &svc.Spec
	if spec.Type == corev1.ServiceTypeExternalName || staysAsItIs(svc, old) {
		return nil
	}
	fillPolicy(svc, old)
	var errs field.ErrorList
	if old != nil {
		errs = reduce(spec, &old.Spec)
	}
	errs = append(errs, checkSingle(spec)...)
	errs = append(errs, inferFamilies(spec, configured)...)
	if len(errs) > 0 {
		return errs
	}
	if spec.ClusterIP == corev1.ClusterIPNone && len(spec.Selector) == 0 {
		// A headless Service without a selector: another client manages its endpoints,
		// whose families the cluster may not have.
		completeFamilies(spec, configured[0], true)
		return nil
	}
	if errs := checkFamilies(spec, configured); len(errs) > 0 {
		return errs
	}
	completeFamilies(spec, configured[0], len(configured) == 2)
	return nil
}

// staysAsItIs reports whether the Service prefers dual-stack and none of the related
// fields change: then it gets no second family just because the cluster has got one.
func staysAsItIs(svc, old *corev1.Service) bool {
	prefers := func(s *corev1.Service) bool {
		return s.Spec.IPFamilyPolicy != nil && *s.Spec.IPFamilyPolicy == corev1.IPFamilyPolicyPreferDualStack
	}
	return old != nil && svc.Spec.Type == old.Spec.Type && prefers(svc) &&
		(prefers(old) || old.Spec.IPFamilyPolicy == nil) &&
		slices.Equal(svc.Spec.ClusterIPs, old.Spec.ClusterIPs) && slices.Equal(svc.Spec.IPFamilies, old.Spec.IPFamilies)
}

func fillPolicy(svc, old *corev1.Service) {
	spec := &svc.Spec
	switch {
	case spec.IPFamilyPolicy != nil:
	case old != nil && old.Spec.IPFamilyPolicy != nil:
		spec.IPFamilyPolicy = pointer(*old.Spec.IPFamilyPolicy)
	case spec.ClusterIP == corev1.ClusterIPNone && len(spec.Selector) == 0:
		spec.IPFamilyPolicy = pointer(corev1.IPFamilyPolicyRequireDualStack)
	default:
		spec.IPFamilyPolicy = pointer(corev1.IPFamilyPolicySingleStack)
	}
}

func pointer[T any](v T) *T { return &v }

// reduce removes the second address and family if the policy changes to SingleStack and
// nothing else about families does. Without that policy it returns an error.
func reduce(spec, was *corev1.ServiceSpec) field.ErrorList {
	if *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack {
		if slices.Equal(spec.ClusterIPs, was.ClusterIPs) && len(spec.ClusterIPs) > 1 {
			spec.ClusterIPs = spec.ClusterIPs[:1]
		}
		if slices.Equal(spec.IPFamilies, was.IPFamilies) && len(spec.IPFamilies) > 1 {
			spec.IPFamilies = spec.IPFamilies[:1]
		}
		return nil
	}
	var errs field.ErrorList
	at := field.NewPath("spec", "ipFamilyPolicy")
	if len(spec.ClusterIPs) > 0 && len(spec.ClusterIPs) < len(was.ClusterIPs) {
		errs = append(errs, field.Invalid(at, spec.IPFamilyPolicy, "must be 'SingleStack' to release the secondary cluster IP"))
	}
	if len(spec.IPFamilies) > 0 && len(spec.IPFamilies) < len(was.IPFamilies) {
		errs = append(errs, field.Invalid(at, spec.IPFamilyPolicy, "must be 'SingleStack' to release the secondary IP family"))
	}
	return errs
}

func checkSingle(spec *corev1.ServiceSpec) field.ErrorList {
	if *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
		return nil
	}
	var errs field.ErrorList
	at := field.NewPath("spec", "ipFamilyPolicy")
	if len(spec.ClusterIPs) == 2 {
		errs = append(errs, field.Invalid(at, spec.IPFamilyPolicy, "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified"))
	}
	if len(spec.IPFamilies) == 2 {
		errs = append(errs, field.Invalid(at, spec.IPFamilyPolicy, "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified"))
	}
	return errs
}

// inferFamilies adds the families of addresses that were given without them.
func inferFamilies(spec *corev1.ServiceSpec, configured []corev1.IPFamily) field.ErrorList {
	var errs field.ErrorList
	for i, text := range spec.ClusterIPs {
		if text == corev1.ClusterIPNone {
			break
		}
		if i < len(spec.IPFamilies) {
			continue
		}
		family := corev1.IPv4Protocol
		if utilnet.IsIPv6String(text) {
			family = corev1.IPv6Protocol
		}
		if slices.Contains(configured, family) {
			spec.IPFamilies = append(slices.Clip(spec.IPFamilies), family)
			continue
		}
		errs = append(errs, field.Invalid(field.NewPath("spec", "clusterIPs").Index(i), spec.ClusterIPs, fmt.Sprintf("%s is not configured on this cluster", family)))
	}
	return errs
}

func checkFamilies(spec *corev1.ServiceSpec, configured []corev1.IPFamily) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("spec")
	if *spec.IPFamilyPolicy == corev1.IPFamilyPolicyRequireDualStack && len(configured) < 2 {
		errs = append(errs, field.Invalid(p.Child("ipFamilyPolicy"), spec.IPFamilyPolicy, "this cluster is not configured for dual-stack services"))
	}
	for i, family := range spec.IPFamilies {
		if !slices.Contains(configured, family) {
			errs = append(errs, field.Invalid(p.Child("ipFamilies").Index(i), family, "not configured on this cluster"))
		}
	}
	return errs
}

// completeFamilies adds missing families: the default one, and the second one if the
// Service may have two.
func completeFamilies(spec *corev1.ServiceSpec, byDefault corev1.IPFamily, two bool) {
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{byDefault}
	}
	if two && len(spec.IPFamilies) == 1 && *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
		spec.IPFamilies = []corev1.IPFamily{spec.IPFamilies[0], otherFamily(spec.IPFamilies[0])}
	}
}

// familiesOf returns the families of networks, in their order.
func familiesOf(ranges []netip.Prefix) []corev1.IPFamily {
	var families []corev1.IPFamily
	for _, prefix := range ranges {
		if family := familyOf(prefix.Addr()); !slices.Contains(families, family) {
			families = append(families, family)
		}
	}
	return families
}
