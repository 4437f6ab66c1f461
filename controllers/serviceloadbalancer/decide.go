package serviceloadbalancer

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// finalizer keeps a Service until its load balancer is gone, and excluded is the label
// of nodes that load balancers must not send to; upstream's.
const (
	finalizer = "service.kubernetes.io/load-balancer-cleanup"
	excluded  = corev1.LabelNodeExcludeBalancers
)

// Verdict says what is to be done about a Service.
type Verdict int

// What can be necessary. Settled is nothing but to remember the Service.
const (
	Nothing Verdict = iota
	Settled
	Ensure
	Remove
	// NewNodes is that the load balancer is to send to other nodes.
	NewNodes
)

// Decide says what to do about a Service, given what its load balancer was last made to
// fit. exists says that it has one; last is nil if that was made by another process.
func Decide(service, last *corev1.Service, exists bool, nodes, lastNodes string) Verdict {
	switch {
	case hasFinalizer(service) && (service.DeletionTimestamp != nil || service.Spec.Type != corev1.ServiceTypeLoadBalancer):
		return Remove
	case !wants(service):
		if exists {
			return Remove
		}
		return Nothing
	case service.DeletionTimestamp != nil:
		return Nothing // it has none yet, and nothing to wait for
	case !exists || !hasFinalizer(service) || len(service.Status.LoadBalancer.Ingress) == 0 || last != nil && differs(last, service):
		return Ensure
	case last == nil:
		return Settled
	case nodes != lastNodes:
		return NewNodes
	}
	return Nothing
}

func hasFinalizer(service *corev1.Service) bool {
	return slices.Contains(service.Finalizers, finalizer)
}

// wants reports whether a Service is to have a load balancer from here.
func wants(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Spec.LoadBalancerClass == nil
}

// differs reports whether a change of the Service is one of its load balancer.
func differs(old, service *corev1.Service) bool {
	a, b := &old.Spec, &service.Spec
	return old.UID != service.UID || wants(old) != wants(service) ||
		!apiequality.Semantic.DeepEqual(a.Ports, b.Ports) ||
		!slices.Equal(a.LoadBalancerSourceRanges, b.LoadBalancerSourceRanges) ||
		a.SessionAffinity != b.SessionAffinity || !apiequality.Semantic.DeepEqual(a.SessionAffinityConfig, b.SessionAffinityConfig) ||
		a.LoadBalancerIP != b.LoadBalancerIP || !slices.Equal(a.ExternalIPs, b.ExternalIPs) ||
		a.ExternalTrafficPolicy != b.ExternalTrafficPolicy || a.HealthCheckNodePort != b.HealthCheckNodePort ||
		len(a.IPFamilies) != len(b.IPFamilies) || !maps.Equal(old.Annotations, service.Annotations)
}

// targets says which nodes load balancers send to: a text that is the same as long as
// they are.
func targets(nodes []*corev1.Node) string {
	var names []string
	for _, node := range nodes {
		if isTarget(node) {
			names = append(names, node.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

func isTarget(node *corev1.Node) bool {
	_, out := node.Labels[excluded]
	return node.DeletionTimestamp == nil && !out
}
