package warnings

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func Service(s *corev1.Service) []string {
	spec, p := &s.Spec, field.NewPath("spec")
	var all []string
	if _, set := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]; set {
		all = append(all, fmt.Sprintf("annotation %s is deprecated, please use %s instead", corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode))
	}
	if len(spec.ClusterIPs) > 0 && spec.ClusterIP != corev1.ClusterIPNone && spec.Type != corev1.ServiceTypeExternalName {
		all = append(all, warnAddresses(p.Child("clusterIPs"), spec.ClusterIPs)...)
	}
	headless, external := spec.Type == corev1.ServiceTypeClusterIP && spec.ClusterIP == corev1.ClusterIPNone, spec.Type == corev1.ServiceTypeExternalName
	if headless {
		all = append(all, headlessWarnings(spec)...)
	}
	all = append(all, warnAddresses(p.Child("externalIPs"), spec.ExternalIPs)...)
	if len(spec.ExternalIPs) > 0 && !headless && !external {
		all = append(all, "spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	}
	if spec.LoadBalancerIP != "" {
		all = append(all, utilvalidation.GetWarningsForIP(p.Child("loadBalancerIP"), spec.LoadBalancerIP)...)
	}
	for i, cidr := range spec.LoadBalancerSourceRanges {
		all = append(all, utilvalidation.GetWarningsForCIDR(p.Child("loadBalancerSourceRanges").Index(i), cidr)...)
	}
	if external && len(spec.ExternalIPs) > 0 {
		all = append(all, `spec.externalIPs is ignored when spec.type is "ExternalName"`)
	}
	if !external && spec.ExternalName != "" {
		all = append(all, `spec.externalName is ignored when spec.type is not "ExternalName"`)
	}
	if ptr.Deref(spec.TrafficDistribution, "") == corev1.ServiceTrafficDistributionPreferClose {
		all = append(all, fmt.Sprintf("spec.trafficDistribution: %q is deprecated; use %q", corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone))
	}
	return all
}

// headlessWarnings warns of fields without effect in a headless Service.
func headlessWarnings(spec *corev1.ServiceSpec) []string {
	var all []string
	if spec.LoadBalancerIP != "" {
		all = append(all, "spec.loadBalancerIP is ignored for headless services")
	}
	if len(spec.ExternalIPs) > 0 {
		all = append(all, "spec.externalIPs is ignored for headless services")
	}
	if spec.SessionAffinity != corev1.ServiceAffinityNone {
		all = append(all, "spec.SessionAffinity is ignored for headless services")
	}
	return all
}

func warnAddresses(p *field.Path, addresses []string) []string {
	var all []string
	for i, address := range addresses {
		all = append(all, utilvalidation.GetWarningsForIP(p.Index(i), address)...)
	}
	return all
}

// byController has the values of the managed-by label for endpoints of controllers, for
// which there is no deprecation warning.
var byController = map[string]bool{"endpointslice-controller.k8s.io": true, "endpointslicemirroring-controller.k8s.io": true, "endpoint-controller": true}

func EndpointSlice(s, old *discoveryv1.EndpointSlice) []string {
	var all []string
	if old == nil && s.AddressType == discoveryv1.AddressTypeFQDN {
		all = append(all, "spec.addressType: FQDN endpoints are deprecated")
	}
	if byController[s.Labels[discoveryv1.LabelManagedBy]] || s.AddressType == discoveryv1.AddressTypeFQDN {
		return all
	}
	for i := range s.Endpoints {
		all = append(all, warnAddresses(field.NewPath("endpoints").Index(i).Child("addresses"), s.Endpoints[i].Addresses)...)
	}
	return all
}

func Endpoints(e *corev1.Endpoints) []string { // deprecated, and still served
	if byController[e.Labels["endpoints.kubernetes.io/managed-by"]] {
		return nil
	}
	var all []string
	for i := range e.Subsets {
		at := field.NewPath("subsets").Index(i)
		for j := range e.Subsets[i].Addresses {
			all = append(all, utilvalidation.GetWarningsForIP(at.Child("addresses").Index(j).Child("ip"), e.Subsets[i].Addresses[j].IP)...)
		}
		for j := range e.Subsets[i].NotReadyAddresses {
			all = append(all, utilvalidation.GetWarningsForIP(at.Child("notReadyAddresses").Index(j).Child("ip"), e.Subsets[i].NotReadyAddresses[j].IP)...)
		}
	}
	return all
}

func NetworkPolicy(n *networkingv1.NetworkPolicy) []string {
	var all []string
	for _, cidr := range validation.NetworkPolicyRanges(n) {
		all = append(all, utilvalidation.GetWarningsForCIDR(cidr.Path, cidr.Value)...)
	}
	return all
}

func Ingress(i, old *networkingv1.Ingress) []string {
	if _, set := i.Annotations[networkingv1beta1.AnnotationIngressClass]; !set || old != nil || i.Spec.IngressClassName != nil {
		return nil
	}
	return []string{fmt.Sprintf("annotation %q is deprecated, please use 'spec.ingressClassName' instead", networkingv1beta1.AnnotationIngressClass)}
}
