package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilnet "k8s.io/utils/net"
)

// validateClusterIPs validates the given addresses and families together; missing ones
// are allocated later.
func validateClusterIPs(p *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	at, ips := p.Child("clusterIPs"), spec.ClusterIPs
	var errs field.ErrorList
	switch {
	case len(ips) == 0 && spec.ClusterIP != "":
		errs = append(errs, field.Required(at, ""))
	case len(ips) > 0 && spec.ClusterIP == "":
		errs = append(errs, field.Invalid(at, ips, "must be empty when `clusterIP` is not specified"))
	case len(ips) > 0 && ips[0] != spec.ClusterIP:
		errs = append(errs, field.Invalid(at, ips, "first value must match `clusterIP`"))
	}
	seen := map[corev1.IPFamily]bool{}
	for i, family := range spec.IPFamilies {
		errs = append(errs, oneOf(p.Child("ipFamilies").Index(i), family, corev1.IPv4Protocol, corev1.IPv6Protocol)...)
		if seen[family] {
			errs = append(errs, field.Duplicate(p.Child("ipFamilies").Index(i), family))
		}
		seen[family] = true
	}
	if policy := spec.IPFamilyPolicy; policy != nil {
		errs = append(errs, oneOf(p.Child("ipFamilyPolicy"), *policy,
			corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack)...)
	}
	wrong := validateEachClusterIP(at, ips)
	errs = append(errs, wrong...)
	if len(ips) > 2 {
		errs = append(errs, field.Invalid(at, ips, "may only hold up to 2 values"))
	}
	if len(wrong) > 0 {
		return errs // further checks need valid addresses
	}
	return append(errs, validateFamiliesOfIPs(at, spec)...)
}

func validateEachClusterIP(at *field.Path, ips []string) field.ErrorList {
	var errs field.ErrorList
	for i, ip := range ips {
		if i == 0 && ip == corev1.ClusterIPNone {
			if len(ips) > 1 {
				errs = append(errs, field.Invalid(at, ips, "'None' must be the first and only value"))
			}
			continue
		}
		errs = append(errs, validation.IsValidIPForLegacyField(at.Index(i), ip, false, nil)...)
	}
	return errs
}

// validateFamiliesOfIPs requires at most one address of each family, matching the given
// families.
func validateFamiliesOfIPs(at *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	var errs field.ErrorList
	ips := spec.ClusterIPs
	if len(ips) > 1 {
		if both, err := utilnet.IsDualStackIPStrings(ips); err == nil && !both {
			errs = append(errs, field.Invalid(at, ips, "may specify no more than one IP for each IP family"))
		}
	}
	if isHeadless(spec) {
		return errs
	}
	for i, ip := range ips {
		if i == len(spec.IPFamilies) {
			break
		}
		family := corev1.IPv4Protocol
		if utilnet.IsIPv6String(ip) {
			family = corev1.IPv6Protocol
		}
		if said := spec.IPFamilies[i]; said != family && (said == corev1.IPv4Protocol || said == corev1.IPv6Protocol) {
			errs = append(errs, field.Invalid(at.Index(i), ip, fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%d]`", said, i)))
		}
	}
	return errs
}

func isHeadless(spec *corev1.ServiceSpec) bool {
	return len(spec.ClusterIPs) == 1 && spec.ClusterIPs[0] == corev1.ClusterIPNone
}

// validateHealthCheckNodePort allows the port only with a health check; an omitted one
// is allocated.
func validateHealthCheckNodePort(p *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	port := spec.HealthCheckNodePort
	switch {
	case port == 0:
		return nil
	case !NeedsHealthCheck(spec):
		return field.ErrorList{field.Invalid(p, port, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")}
	}
	return validatePort(p, port)
}
