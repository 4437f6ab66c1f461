package resources

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Older versions accepted addresses in unusual forms ("010.0.0.1", "10.1.2.3/8"), and
// stored objects may have them. New ones are rejected (KEP-4858).

// placedText is a value and its path.
type placedText struct {
	at    *field.Path
	value string
}

func valuesOf(list []placedText) []string {
	values := make([]string, len(list))
	for i := range list {
		values[i] = list[i].value
	}
	return values
}

// strictIPs rejects addresses in unusual forms, except those that the object had
// before.
func strictIPs(list, before []placedText) field.ErrorList {
	var errs field.ErrorList
	for _, ip := range list {
		if len(validation.IsValidIPForLegacyField(ip.at, ip.value, false, nil)) > 0 {
			continue // an invalid address is rejected elsewhere
		}
		errs = append(errs, validation.IsValidIPForLegacyField(ip.at, ip.value, true, valuesOf(before))...)
	}
	return errs
}

// strictCIDRs does the same for ranges of addresses.
func strictCIDRs(list, before []placedText) field.ErrorList {
	var errs field.ErrorList
	for _, cidr := range list {
		if len(validation.IsValidCIDRForLegacyField(cidr.at, cidr.value, false, nil)) > 0 {
			continue
		}
		errs = append(errs, validation.IsValidCIDRForLegacyField(cidr.at, cidr.value, true, valuesOf(before))...)
	}
	return errs
}

// strictService checks the forms of a Service's addresses; old is empty for a new one.
func strictService(s, old *corev1.Service) field.ErrorList {
	errs := strictIPs(clusterIPsOf(s), clusterIPsOf(old))
	errs = append(errs, strictIPs(externalIPsOf(s), externalIPsOf(old))...)
	return append(errs, strictCIDRs(sourceRangesOf(s), sourceRangesOf(old))...)
}

func clusterIPsOf(s *corev1.Service) []placedText {
	var list []placedText
	for i, ip := range s.Spec.ClusterIPs {
		if ip != corev1.ClusterIPNone {
			list = append(list, placedText{field.NewPath("spec", "clusterIPs").Index(i), ip})
		}
	}
	return list
}

func externalIPsOf(s *corev1.Service) []placedText {
	var list []placedText
	for i, ip := range s.Spec.ExternalIPs {
		list = append(list, placedText{field.NewPath("spec", "externalIPs").Index(i), ip})
	}
	return list
}

func sourceRangesOf(s *corev1.Service) []placedText {
	var list []placedText
	for i, cidr := range s.Spec.LoadBalancerSourceRanges {
		list = append(list, placedText{field.NewPath("spec", "LoadBalancerSourceRanges").Index(i), strings.TrimSpace(cidr)})
	}
	return list
}

// strictNetworkPolicy checks the forms of a policy's ranges; old is empty for a new
// one.
func strictNetworkPolicy(n, old *networkingv1.NetworkPolicy) field.ErrorList {
	return strictCIDRs(rangesOf(n), rangesOf(old))
}

func rangesOf(n *networkingv1.NetworkPolicy) []placedText {
	var list []placedText
	addPeers := func(p *field.Path, peers []networkingv1.NetworkPolicyPeer) {
		for i := range peers {
			block, at := peers[i].IPBlock, p.Index(i).Child("ipBlock")
			if block == nil || block.CIDR == "" {
				continue
			}
			list = append(list, placedText{at.Child("cidr"), block.CIDR})
			for j, except := range block.Except {
				list = append(list, placedText{at.Child("except").Index(j), except})
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
