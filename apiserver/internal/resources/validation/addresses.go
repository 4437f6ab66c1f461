package validation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Older versions accepted addresses in unusual forms ("010.0.0.1", "10.1.2.3/8"), and
// stored objects may have them. New ones are rejected (KEP-4858).

// TextAt is the value of a text field and its path.
type TextAt struct {
	Path  *field.Path
	Value string
}

func valuesOf(list []TextAt) []string {
	values := make([]string, len(list))
	for i := range list {
		values[i] = list[i].Value
	}
	return values
}

// strictIPs rejects addresses in unusual forms, except IPs that the object had before.
func strictIPs(list, before []TextAt) field.ErrorList {
	var errs field.ErrorList
	for _, ip := range list {
		if len(validation.IsValidIPForLegacyField(ip.Path, ip.Value, false, nil)) > 0 {
			continue // an invalid address is rejected elsewhere
		}
		errs = append(errs, validation.IsValidIPForLegacyField(ip.Path, ip.Value, true, valuesOf(before))...)
	}
	return errs
}

// strictCIDRs does the same for ranges of addresses.
func strictCIDRs(list, before []TextAt) field.ErrorList {
	var errs field.ErrorList
	for _, cidr := range list {
		if len(validation.IsValidCIDRForLegacyField(cidr.Path, cidr.Value, false, nil)) > 0 {
			continue
		}
		errs = append(errs, validation.IsValidCIDRForLegacyField(cidr.Path, cidr.Value, true, valuesOf(before))...)
	}
	return errs
}

// strictService checks the forms of a Service's addresses; old is empty for a new one.
func strictService(s, old *corev1.Service) field.ErrorList {
	errs := strictIPs(clusterIPsOf(s), clusterIPsOf(old))
	errs = append(errs, strictIPs(externalIPsOf(s), externalIPsOf(old))...)
	return append(errs, strictCIDRs(sourceRangesOf(s), sourceRangesOf(old))...)
}

func clusterIPsOf(s *corev1.Service) []TextAt {
	var list []TextAt
	for i, ip := range s.Spec.ClusterIPs {
		if ip != corev1.ClusterIPNone {
			list = append(list, TextAt{field.NewPath("spec", "clusterIPs").Index(i), ip})
		}
	}
	return list
}

func externalIPsOf(s *corev1.Service) []TextAt {
	var list []TextAt
	for i, ip := range s.Spec.ExternalIPs {
		list = append(list, TextAt{field.NewPath("spec", "externalIPs").Index(i), ip})
	}
	return list
}

func sourceRangesOf(s *corev1.Service) []TextAt {
	var list []TextAt
	for i, cidr := range s.Spec.LoadBalancerSourceRanges {
		list = append(list, TextAt{field.NewPath("spec", "LoadBalancerSourceRanges").Index(i), strings.TrimSpace(cidr)})
	}
	return list
}

func NetworkPolicyCreate(n *networkingv1.NetworkPolicy) field.ErrorList {
	return NetworkPolicyUpdate(n, &networkingv1.NetworkPolicy{})
}

// NetworkPolicyUpdate checks the forms of a policy's ranges.
func NetworkPolicyUpdate(n, old *networkingv1.NetworkPolicy) field.ErrorList {
	return strictCIDRs(NetworkPolicyRanges(n), NetworkPolicyRanges(old))
}

// NetworkPolicyRanges returns the ranges of addresses in a policy.
func NetworkPolicyRanges(n *networkingv1.NetworkPolicy) []TextAt {
	var list []TextAt
	addPeers := func(p *field.Path, peers []networkingv1.NetworkPolicyPeer) {
		for i := range peers {
			block, at := peers[i].IPBlock, p.Index(i).Child("ipBlock")
			if block == nil || block.CIDR == "" {
				continue
			}
			list = append(list, TextAt{at.Child("cidr"), block.CIDR})
			for j, except := range block.Except {
				list = append(list, TextAt{at.Child("except").Index(j), except})
			}
		}
	}
	for i := range n.Spec.Ingress {
		addPeers(field.NewPath("spec", "ingress").Index(i).Child("from"), n.Spec.Ingress[i].From)
	}
	for i := range n.Spec.Egress {
		addPeers(field.NewPath("spec", "egress").Index(i).Child("to"), n.Spec.Egress[i].To)
	}
	return list
}
