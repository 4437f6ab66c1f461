package resources

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// prepareService sets the two fields for a service's address, of which old clients
// know only the first.
func prepareService(s *corev1.Service) {
	if s.Spec.ClusterIP != "" && len(s.Spec.ClusterIPs) == 0 {
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
	}
}

// prepareServiceUpdate follows a client that knows only the field clusterIP, and
// keeps what was allocated where the client leaves it out.
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
	if needsHealthCheck(spec) && needsHealthCheck(was) && spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = was.HealthCheckNodePort
	}
}

// keepNodePorts gives ports that have none the node port that the same port had.
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

func needsHealthCheck(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// dropOfOldType takes from a service whose type changes what its new type may not
// have, if the client left it as it was: to change the type alone is enough.
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
	if needsHealthCheck(was) && !needsHealthCheck(spec) && spec.HealthCheckNodePort == was.HealthCheckNodePort {
		spec.HealthCheckNodePort = 0
	}
	if needsNodePorts(was) && !needsNodePorts(spec) && len(spec.ExternalIPs) == 0 && spec.ExternalTrafficPolicy == was.ExternalTrafficPolicy {
		spec.ExternalTrafficPolicy = ""
	}
	if was.Type == corev1.ServiceTypeLoadBalancer && spec.Type != was.Type {
		if samePointed(spec.AllocateLoadBalancerNodePorts, was.AllocateLoadBalancerNodePorts) {
			spec.AllocateLoadBalancerNodePorts = nil
		}
		if samePointed(spec.LoadBalancerClass, was.LoadBalancerClass) {
			spec.LoadBalancerClass = nil
		}
	}
	if spec.Type == corev1.ServiceTypeExternalName && samePointed(spec.InternalTrafficPolicy, was.InternalTrafficPolicy) {
		spec.InternalTrafficPolicy = nil
	}
}

// sameNodePorts reports whether no node port was set that was not there before.
func sameNodePorts(ports, was []corev1.ServicePort) bool {
	had := map[int32]bool{0: true}
	for _, p := range was {
		had[p.NodePort] = true
	}
	return !slices.ContainsFunc(ports, func(p corev1.ServicePort) bool { return !had[p.NodePort] })
}

func samePointed[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
