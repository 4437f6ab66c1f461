package validation

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func NetworkPolicy(n *networkingv1.NetworkPolicy) field.ErrorList {
	spec, p := &n.Spec, field.NewPath("spec")
	errs := validateSelector(p.Child("podSelector"), &spec.PodSelector)
	for i := range spec.Ingress {
		at := p.Child("ingress").Index(i)
		errs = append(errs, validatePolicyPorts(at.Child("ports"), spec.Ingress[i].Ports)...)
		errs = append(errs, validatePeers(at.Child("from"), spec.Ingress[i].From)...)
	}
	for i := range spec.Egress {
		at := p.Child("egress").Index(i)
		errs = append(errs, validatePolicyPorts(at.Child("ports"), spec.Egress[i].Ports)...)
		errs = append(errs, validatePeers(at.Child("to"), spec.Egress[i].To)...)
	}
	if len(spec.PolicyTypes) > 2 {
		return append(errs, field.Invalid(p.Child("policyTypes"), &spec.PolicyTypes, "may not specify more than two policyTypes"))
	}
	for i := range spec.PolicyTypes {
		errs = append(errs, oneOf(p.Child("policyTypes").Index(i), spec.PolicyTypes[i], networkingv1.PolicyTypeEgress, networkingv1.PolicyTypeIngress)...)
	}
	return errs
}

func validatePolicyPorts(p *field.Path, ports []networkingv1.NetworkPolicyPort) field.ErrorList {
	var errs field.ErrorList
	for i := range ports {
		errs = append(errs, validatePolicyPort(p.Index(i), &ports[i])...)
	}
	return errs
}

func validatePolicyPort(p *field.Path, port *networkingv1.NetworkPolicyPort) field.ErrorList {
	var errs field.ErrorList
	if port.Protocol != nil {
		errs = append(errs, oneOf(p.Child("protocol"), *port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)...)
	}
	end, at := port.EndPort, p.Child("endPort")
	if port.Port == nil {
		if end != nil {
			errs = append(errs, field.Invalid(at, *end, "may not be specified when `port` is not specified"))
		}
		return errs
	}
	errs = append(errs, validatePortOrName(p.Child("port"), *port.Port)...)
	switch {
	case end == nil:
	case port.Port.Type == intstr.String:
		errs = append(errs, field.Invalid(at, *end, "may not be specified when `port` is non-numeric"))
	default:
		if *end < port.Port.IntVal {
			errs = append(errs, field.Invalid(at, port.Port.IntVal, "must be greater than or equal to `port`"))
		}
		errs = append(errs, validatePort(at, *end)...)
	}
	return errs
}

func validatePeers(p *field.Path, peers []networkingv1.NetworkPolicyPeer) field.ErrorList {
	var errs field.ErrorList
	for i := range peers {
		errs = append(errs, validatePeer(p.Index(i), &peers[i])...)
	}
	return errs
}

func validatePeer(p *field.Path, peer *networkingv1.NetworkPolicyPeer) field.ErrorList {
	var errs field.ErrorList
	selects := false
	for _, s := range []struct {
		name     string
		selector *metav1.LabelSelector
	}{{"podSelector", peer.PodSelector}, {"namespaceSelector", peer.NamespaceSelector}} {
		if s.selector != nil {
			selects = true
			errs = append(errs, validateSelector(p.Child(s.name), s.selector)...)
		}
	}
	if peer.IPBlock != nil {
		errs = append(errs, validateIPBlock(p.Child("ipBlock"), peer.IPBlock)...)
	}
	switch {
	case !selects && peer.IPBlock == nil:
		errs = append(errs, field.Required(p, "must specify a peer"))
	case selects && peer.IPBlock != nil:
		errs = append(errs, field.Forbidden(p, "may not specify both ipBlock and another peer"))
	}
	return errs
}

func validateIPBlock(p *field.Path, block *networkingv1.IPBlock) field.ErrorList {
	if block.CIDR == "" {
		return field.ErrorList{field.Required(p.Child("cidr"), "")}
	}
	errs := validation.IsValidCIDRForLegacyField(p.Child("cidr"), block.CIDR, false, nil)
	whole, err := netip.ParsePrefix(block.CIDR)
	if err != nil {
		return errs
	}
	for i, text := range block.Except {
		at := p.Child("except").Index(i)
		errs = append(errs, validation.IsValidCIDRForLegacyField(at, text, false, nil)...)
		part, err := netip.ParsePrefix(text)
		if err == nil && (!whole.Contains(part.Addr()) || part.Bits() <= whole.Bits()) {
			errs = append(errs, field.Invalid(at, text, "must be a strict subset of `cidr`"))
		}
	}
	return errs
}
