package serviceloadbalancer

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// finalizer keeps a Service until its load balancer is deleted, and excluded is the label
// of nodes that are no targets of load balancers; both are upstream's.
const (
	finalizer = "service.kubernetes.io/load-balancer-cleanup"
	excluded  = corev1.LabelNodeExcludeBalancers
)

// Verdict is the action for a Service.
type Verdict int

// The actions. Settled only records the Service.
const (
	Nothing Verdict = iota
	Settled
	Ensure
	Remove
	// NewNodes changes the target nodes of the load balancer.
	NewNodes
)

// Decide returns the action for a Service. last is the Service for which its load balancer
// was last configured; nil if an earlier process configured it. exists reports whether
// there is one.
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
		return Nothing // it has no load balancer to delete
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

// wants reports whether this controller provides a load balancer for the Service.
func wants(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Spec.LoadBalancerClass == nil
}

// differs reports whether a change of the Service affects its load balancer.
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

// targets returns a text that identifies the set of target nodes.
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
