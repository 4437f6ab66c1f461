package validation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilnet "k8s.io/utils/net"
	"k8s.io/utils/ptr"
)

// validateServiceTransition keeps a service's addresses and families, except that a second
// one may be added and removed.
func validateServiceTransition(s, old *corev1.Service) field.ErrorList {
	p, spec, was := field.NewPath("spec"), &s.Spec, &old.Spec
	var errs field.ErrorList
	if spec.Type != corev1.ServiceTypeExternalName && was.Type != corev1.ServiceTypeExternalName {
		errs = append(errs, validateKeptIPs(p, spec, was)...)
		errs = append(errs, validateKeptFamilies(p, spec, was)...)
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer && was.Type == spec.Type && !ptr.Equal(spec.LoadBalancerClass, was.LoadBalancerClass) {
		errs = append(errs, field.Invalid(p.Child("loadBalancerClass"), spec.LoadBalancerClass, "may not change once set"))
	}
	if NeedsHealthCheck(was) && NeedsHealthCheck(spec) && spec.HealthCheckNodePort != was.HealthCheckNodePort {
		errs = append(errs, field.Forbidden(p.Child("healthCheckNodePort"), "field is immutable"))
	}
	return errs
}

// singleStack reports that the client requests single-stack.
func singleStack(spec *corev1.ServiceSpec) bool {
	return spec.IPFamilyPolicy != nil && *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack
}

func validateKeptIPs(p *field.Path, spec, was *corev1.ServiceSpec) field.ErrorList {
	if isHeadless(spec) && isHeadless(was) {
		return nil
	}
	var errs field.ErrorList
	at := p.Child("clusterIPs")
	ips, had := spec.ClusterIPs, was.ClusterIPs
	changed := func(i int) {
		errs = append(errs, field.Invalid(at.Index(i), ips, "may not change once set"))
	}
	switch {
	case len(ips) == len(had):
		for i := range had {
			if had[i] != ips[i] {
				changed(i)
			}
		}
	case len(ips) == 0:
		errs = append(errs, field.Invalid(at.Index(0), ips, "primary clusterIP can not be unset"))
	case len(had) > 0 && had[0] != ips[0]:
		changed(0)
	}
	if len(had) > 1 && len(ips) == 1 && !singleStack(spec) {
		errs = append(errs, field.Invalid(p.Child("ipFamilyPolicy"), spec.IPFamilyPolicy, "must be set to 'SingleStack' when releasing the secondary clusterIP"))
	}
	return errs
}

func validateKeptFamilies(p *field.Path, spec, was *corev1.ServiceSpec) field.ErrorList {
	if isHeadless(spec) || isHeadless(was) {
		return nil
	}
	var errs field.ErrorList
	at := p.Child("ipFamilies").Index(0)
	families, had := spec.IPFamilies, was.IPFamilies
	if len(families) == len(had) {
		for i := range had {
			if had[i] != families[i] {
				errs = append(errs, field.Invalid(at, families, "may not change once set"))
			}
		}
		return errs
	}
	if len(had) > 0 && len(families) > 0 && families[0] != had[0] {
		errs = append(errs, field.Invalid(at, spec.ClusterIPs, "may not change once set"))
	}
	if len(had) > 1 && len(families) == 1 && !singleStack(spec) {
		errs = append(errs, field.Invalid(p.Child("ipFamilyPolicy"), spec.IPFamilyPolicy, "must be set to 'SingleStack' when releasing the secondary ipFamily"))
	}
	return errs
}

// ServiceStatus validates the status that a load balancer reports.
func ServiceStatus(s, old *corev1.Service) field.ErrorList {
	var known []string
	for i := range old.Status.LoadBalancer.Ingress {
		known = append(known, old.Status.LoadBalancer.Ingress[i].IP)
	}
	p := field.NewPath("status", "loadBalancer", "ingress")
	ingress := s.Status.LoadBalancer.Ingress
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer && len(ingress) > 0 {
		return field.ErrorList{field.Forbidden(p, "may only be used when `spec.type` is 'LoadBalancer'")}
	}
	var errs field.ErrorList
	for i := range ingress {
		errs = append(errs, validateIngressPoint(p.Index(i), &ingress[i], known)...)
	}
	return errs
}

func validateIngressPoint(p *field.Path, point *corev1.LoadBalancerIngress, known []string) field.ErrorList {
	var errs field.ErrorList
	if point.IP != "" {
		errs = append(errs, validation.IsValidIPForLegacyField(p.Child("ip"), point.IP, true, known)...)
	}
	switch mode := point.IPMode; {
	case mode == nil && point.IP != "":
		errs = append(errs, field.Required(p.Child("ipMode"), "must be specified when `ip` is set"))
	case mode != nil && point.IP == "":
		errs = append(errs, field.Forbidden(p.Child("ipMode"), "may not be specified when `ip` is not set"))
	case mode != nil:
		errs = append(errs, oneOf(p.Child("ipMode"), *mode, corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP)...)
	}
	if point.Hostname != "" {
		errs = append(errs, invalidFor(p.Child("hostname"), point.Hostname, isDNSSubdomain(point.Hostname))...)
		if utilnet.ParseIPSloppy(point.Hostname) != nil {
			errs = append(errs, field.Invalid(p.Child("hostname"), point.Hostname, "must be a DNS name, not an IP address"))
		}
	}
	return errs
}

func ServiceCreate(s *corev1.Service) field.ErrorList {
	return strictService(s, &corev1.Service{})
}

func ServiceUpdate(s, old *corev1.Service) field.ErrorList {
	return append(validateServiceTransition(s, old), strictService(s, old)...)
}
