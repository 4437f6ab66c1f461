package validation

import (
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const maxAffinitySeconds = 86400

func Service(s *corev1.Service) field.ErrorList {
	p := field.NewPath("spec")
	spec := &s.Spec
	errs := requiredOneOf(p.Child("type"), spec.Type,
		corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)
	headless := spec.ClusterIP == corev1.ClusterIPNone
	if len(spec.Ports) == 0 && !headless && spec.Type != corev1.ServiceTypeExternalName {
		errs = append(errs, field.Required(p.Child("ports"), ""))
	}
	errs = append(errs, validateServiceType(p, spec)...)
	errs = append(errs, validateServicePorts(p.Child("ports"), spec)...)
	errs = append(errs, metav1validation.ValidateLabels(spec.Selector, p.Child("selector"))...)
	errs = append(errs, requiredOneOf(p.Child("sessionAffinity"), spec.SessionAffinity, corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)...)
	errs = append(errs, validateAffinityConfig(p.Child("sessionAffinityConfig"), spec)...)
	if spec.Type != corev1.ServiceTypeExternalName {
		errs = append(errs, validateClusterIPs(p, spec)...)
	}
	for i, ip := range spec.ExternalIPs {
		errs = append(errs, validateReachableIP(p.Child("externalIPs").Index(i), ip, false)...)
	}
	return append(errs, validateTrafficPolicies(p, spec)...)
}

// validateServiceType validates the fields that a type of services requires or forbids.
func validateServiceType(p *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	headless := spec.ClusterIP == corev1.ClusterIPNone
	at := p.Child("clusterIPs").Index(0)
	switch spec.Type {
	case corev1.ServiceTypeNodePort:
		if headless {
			return field.ErrorList{field.Invalid(at, spec.ClusterIPs, "may not be set to 'None' for NodePort services")}
		}
	case corev1.ServiceTypeLoadBalancer:
		if headless {
			return field.ErrorList{field.Invalid(at, spec.ClusterIPs, "may not be set to 'None' for LoadBalancer services")}
		}
	case corev1.ServiceTypeExternalName:
		var errs field.ErrorList
		if len(spec.ClusterIPs) > 0 {
			errs = append(errs, field.Forbidden(p.Child("clusterIPs"), "may not be set for ExternalName services"))
		}
		if len(spec.IPFamilies) > 0 {
			errs = append(errs, field.Forbidden(p.Child("ipFamilies"), "may not be set for ExternalName services"))
		}
		if spec.IPFamilyPolicy != nil {
			errs = append(errs, field.Forbidden(p.Child("ipFamilyPolicy"), "may not be set for ExternalName services"))
		}
		name := strings.TrimSuffix(spec.ExternalName, ".")
		return append(errs, requiredOr(p.Child("externalName"), name, isDNSSubdomain)...)
	}
	return nil
}

func validateServicePorts(p *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	var errs field.ErrorList
	var names nameList
	type key struct {
		protocol corev1.Protocol
		port     int32
	}
	ports, nodePorts := map[key]bool{}, map[key]bool{}
	for i := range spec.Ports {
		port, at := &spec.Ports[i], p.Index(i)
		switch {
		case port.Name != "":
			errs = append(errs, invalidFor(at.Child("name"), port.Name, isDNSLabel(port.Name))...)
			errs = append(errs, names.add(at.Child("name"), port.Name)...)
		case len(spec.Ports) > 1:
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		errs = append(errs, validatePort(at.Child("port"), port.Port)...)
		errs = append(errs, validateProtocol(at.Child("protocol"), port.Protocol)...)
		errs = append(errs, validatePortOrName(at.Child("targetPort"), port.TargetPort)...)
		if port.AppProtocol != nil {
			errs = append(errs, invalidFor(at.Child("appProtocol"), port.AppProtocol, isQualifiedName(*port.AppProtocol))...)
		}
		if k := (key{port.Protocol, port.Port}); ports[k] {
			errs = append(errs, field.Duplicate(at, corev1.ServicePort{Protocol: port.Protocol, Port: port.Port}))
		} else {
			ports[k] = true
		}
		if port.NodePort == 0 {
			continue
		}
		if spec.Type == corev1.ServiceTypeClusterIP || spec.Type == corev1.ServiceTypeExternalName {
			errs = append(errs, field.Forbidden(at.Child("nodePort"), "may not be used when `type` is '"+string(spec.Type)+"'"))
			continue
		}
		if k := (key{port.Protocol, port.NodePort}); nodePorts[k] {
			errs = append(errs, field.Duplicate(at.Child("nodePort"), port.NodePort))
		} else {
			nodePorts[k] = true
		}
	}
	return errs
}

func validateAffinityConfig(p *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	config := spec.SessionAffinityConfig
	if spec.SessionAffinity == corev1.ServiceAffinityNone && config != nil {
		return field.ErrorList{field.Forbidden(p, "must not be set when session affinity is None")}
	}
	if spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		return nil
	}
	at := p.Child("clientIP", "timeoutSeconds")
	if config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
		return field.ErrorList{field.Required(p, "when session affinity type is ClientIP")}
	}
	if s := *config.ClientIP.TimeoutSeconds; s <= 0 || s > maxAffinitySeconds {
		return field.ErrorList{field.Invalid(at, s, "must be greater than 0 and less than 86400")}
	}
	return nil
}

func validateTrafficPolicies(p *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	var errs field.ErrorList
	external := spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer ||
		spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
	if at := p.Child("externalTrafficPolicy"); external {
		errs = append(errs, requiredOneOf(at, spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)...)
	} else if spec.ExternalTrafficPolicy != "" {
		errs = append(errs, field.Invalid(at, spec.ExternalTrafficPolicy, "may only be set for externally-accessible services"))
	}
	errs = append(errs, validateHealthCheckNodePort(p.Child("healthCheckNodePort"), spec)...)
	if policy := spec.TrafficDistribution; policy != nil {
		errs = append(errs, oneOf(p.Child("trafficDistribution"), *policy,
			corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameNode, corev1.ServiceTrafficDistributionPreferSameZone)...)
	}
	if policy := spec.InternalTrafficPolicy; policy != nil {
		errs = append(errs, oneOf(p.Child("internalTrafficPolicy"), *policy, corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)...)
	}
	balanced := spec.Type == corev1.ServiceTypeLoadBalancer
	if class := spec.LoadBalancerClass; class != nil && !balanced {
		errs = append(errs, field.Forbidden(p.Child("loadBalancerClass"), "may only be used when `type` is 'LoadBalancer'"))
	} else if class != nil {
		errs = append(errs, invalidFor(p.Child("loadBalancerClass"), *class, isQualifiedName(*class))...)
	}
	if at := p.Child("allocateLoadBalancerNodePorts"); balanced && spec.AllocateLoadBalancerNodePorts == nil {
		errs = append(errs, field.Required(at, ""))
	} else if !balanced && spec.AllocateLoadBalancerNodePorts != nil {
		errs = append(errs, field.Forbidden(at, "may only be used when `type` is 'LoadBalancer'"))
	}
	if len(spec.LoadBalancerSourceRanges) > 0 {
		at := p.Child("LoadBalancerSourceRanges") // upstream's path
		if !balanced {
			errs = append(errs, field.Forbidden(at, "may only be used when `type` is 'LoadBalancer'"))
		}
		for i, cidr := range spec.LoadBalancerSourceRanges {
			errs = append(errs, validation.IsValidCIDRForLegacyField(at.Index(i), strings.TrimSpace(cidr), false, nil)...)
		}
	}
	return errs
}

// validateReachableIP validates an address to which packets are sent.
func validateReachableIP(p *field.Path, value string, strict bool) field.ErrorList {
	if errs := validation.IsValidIPForLegacyField(p, value, strict, nil); len(errs) > 0 {
		return errs
	}
	ip, err := netip.ParseAddr(value)
	if err != nil {
		return nil
	}
	var errs field.ErrorList
	for _, special := range []struct {
		is      bool
		message string
	}{
		{ip.IsUnspecified(), "may not be unspecified (" + value + ")"},
		{ip.IsLoopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)"},
		{ip.IsLinkLocalUnicast(), "may not be in the link-local range (169.254.0.0/16, fe80::/10)"},
		{ip.IsLinkLocalMulticast(), "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"},
	} {
		if special.is {
			errs = append(errs, field.Invalid(p, value, special.message))
		}
	}
	return errs
}

// NeedsHealthCheck reports whether load balancers check a node port of the Service to learn
// which nodes have endpoints of it.
func NeedsHealthCheck(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}
