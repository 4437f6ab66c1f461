package resources

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

// prepareService sets both fields for a service's address; old clients know only the
// first.
func prepareService(s *corev1.Service) {
	if s.Spec.ClusterIP != "" && len(s.Spec.ClusterIPs) == 0 {
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
	}
}

// prepareServiceUpdate updates clusterIPs for a client that only knows clusterIP, and
// keeps allocated values that the client omits.
func prepareServiceUpdate(s, old *corev1.Service) {
	spec, was := &s.Spec, &old.Spec
	if spec.ClusterIP != was.ClusterIP && slices.Equal(spec.ClusterIPs, was.ClusterIPs) {
		switch {
		case spec.ClusterIP == "":
			spec.ClusterIPs = nil
		case len(spec.ClusterIPs) > 0:
			spec.ClusterIPs = slices.Concat([]string{spec.ClusterIP}, spec.ClusterIPs[1:])
		}
	}
	prepareService(s)
	dropOfOldType(spec, was)
	if spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	if was.Type != corev1.ServiceTypeExternalName && spec.ClusterIP == "" && len(spec.ClusterIPs) == 0 {
		spec.ClusterIP, spec.ClusterIPs = was.ClusterIP, was.ClusterIPs
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = was.IPFamilies
	}
	if spec.IPFamilyPolicy == nil {
		spec.IPFamilyPolicy = was.IPFamilyPolicy
	}
	keepNodePorts(spec, was)
	if validation.NeedsHealthCheck(spec) && validation.NeedsHealthCheck(was) && spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = was.HealthCheckNodePort
	}
}

// keepNodePorts sets the node ports of ports without one to those that the same ports
// had.
func keepNodePorts(spec, was *corev1.ServiceSpec) {
	if !needsNodePorts(spec) || !needsNodePorts(was) {
		return
	}
	type key struct {
		protocol corev1.Protocol
		port     int32
	}
	had, taken := map[key]int32{}, map[int32]bool{}
	for _, p := range was.Ports {
		had[key{p.Protocol, p.Port}] = p.NodePort
	}
	for _, p := range spec.Ports {
		taken[p.NodePort] = true
	}
	for i := range spec.Ports {
		p := &spec.Ports[i]
		if number := had[key{p.Protocol, p.Port}]; p.NodePort == 0 && !taken[number] {
			p.NodePort = number
			taken[number] = true
		}
	}
}

func needsNodePorts(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer
}

// dropOfOldType clears the fields that a service's new type does not allow, if the
// client left them unchanged: changing the type alone is sufficient.
func dropOfOldType(spec, was *corev1.ServiceSpec) {
	if spec.Type == corev1.ServiceTypeExternalName && was.Type != spec.Type && slices.Equal(spec.ClusterIPs, was.ClusterIPs) {
		spec.ClusterIP, spec.ClusterIPs = "", nil
		spec.IPFamilies, spec.IPFamilyPolicy = nil, nil
	}
	if needsNodePorts(was) && !needsNodePorts(spec) && sameNodePorts(spec.Ports, was.Ports) {
		for i := range spec.Ports {
			spec.Ports[i].NodePort = 0
		}
	}
	if validation.NeedsHealthCheck(was) && !validation.NeedsHealthCheck(spec) && spec.HealthCheckNodePort == was.HealthCheckNodePort {
		spec.HealthCheckNodePort = 0
	}
	if needsNodePorts(was) && !needsNodePorts(spec) && len(spec.ExternalIPs) == 0 && spec.ExternalTrafficPolicy == was.ExternalTrafficPolicy {
		spec.ExternalTrafficPolicy = ""
	}
	if was.Type == corev1.ServiceTypeLoadBalancer && spec.Type != was.Type {
		if ptr.Equal(spec.AllocateLoadBalancerNodePorts, was.AllocateLoadBalancerNodePorts) {
			spec.AllocateLoadBalancerNodePorts = nil
		}
		if ptr.Equal(spec.LoadBalancerClass, was.LoadBalancerClass) {
			spec.LoadBalancerClass = nil
		}
	}
	if spec.Type == corev1.ServiceTypeExternalName && ptr.Equal(spec.InternalTrafficPolicy, was.InternalTrafficPolicy) {
		spec.InternalTrafficPolicy = nil
	}
}

// sameNodePorts reports whether every node port existed before.
func sameNodePorts(ports, was []corev1.ServicePort) bool {
	had := map[int32]bool{0: true}
	for _, p := range was {
		had[p.NodePort] = true
	}
	return !slices.ContainsFunc(ports, func(p corev1.ServicePort) bool { return !had[p.NodePort] })
}
