package policy_test

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/internal/network/policy"
)

// naive decides by the text of the documentation, one policy after the other, without anything compiled. It knows only
// what the generator makes.
type naive struct {
	policies   []*networkingv1.NetworkPolicy
	namespaces map[string]map[string]string
}

type naiveSide struct {
	selected []string
	allowed  bool
}

func (n *naive) decide(f *policy.Flow) (out, in naiveSide, allowed bool) {
	out, in = n.side(f, true), n.side(f, false)
	return out, in, n.exempt(f) || out.allowed && in.allowed
}

func (n *naive) exempt(f *policy.Flow) bool {
	if f.From.Address == f.To.Address {
		return true
	}
	isNode := func(p policy.Peer) bool {
		return p.Pod == nil && p.Node != "" || p.Pod != nil && p.Pod.Spec.HostNetwork
	}
	nodeOf := func(p policy.Peer) string {
		if p.Pod != nil {
			return p.Pod.Spec.NodeName
		}
		return p.Node
	}
	return (isNode(f.From) || isNode(f.To)) && nodeOf(f.From) != "" && nodeOf(f.From) == nodeOf(f.To)
}

func (n *naive) side(f *policy.Flow, egress bool) naiveSide {
	self, other := f.To, f.From
	if egress {
		self, other = f.From, f.To
	}
	side := naiveSide{allowed: true}
	if self.Pod == nil || self.Pod.Spec.HostNetwork {
		return side
	}
	permitted := false
	for _, p := range n.policies {
		if p.Namespace != self.Pod.Namespace || !selects(&p.Spec.PodSelector, self.Pod.Labels) || !rules(p, egress) {
			continue
		}
		side.selected = append(side.selected, p.Name)
		if egress {
			for _, r := range p.Spec.Egress {
				permitted = permitted || n.rule(p.Namespace, r.To, r.Ports, other, f)
			}
		} else {
			for _, r := range p.Spec.Ingress {
				permitted = permitted || n.rule(p.Namespace, r.From, r.Ports, other, f)
			}
		}
	}
	slices.Sort(side.selected)
	side.allowed = len(side.selected) == 0 || permitted
	return side
}

func rules(p *networkingv1.NetworkPolicy, egress bool) bool {
	if len(p.Spec.PolicyTypes) == 0 {
		return !egress || len(p.Spec.Egress) > 0
	}
	if egress {
		return slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
	}
	return slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress)
}

func (n *naive) rule(namespace string, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort, other policy.Peer, f *policy.Flow) bool {
	peer := len(peers) == 0
	for _, p := range peers {
		peer = peer || n.peer(namespace, p, other)
	}
	port := len(ports) == 0
	for _, p := range ports {
		port = port || n.port(p, f)
	}
	return peer && port
}

func (n *naive) peer(namespace string, p networkingv1.NetworkPolicyPeer, other policy.Peer) bool {
	if p.IPBlock != nil {
		in := netip.MustParsePrefix(p.IPBlock.CIDR).Contains(other.Address)
		for _, except := range p.IPBlock.Except {
			in = in && !netip.MustParsePrefix(except).Contains(other.Address)
		}
		return in
	}
	if other.Pod == nil || other.Pod.Spec.HostNetwork {
		return false
	}
	if p.NamespaceSelector == nil {
		return p.PodSelector != nil && other.Pod.Namespace == namespace && selects(p.PodSelector, other.Pod.Labels)
	}
	of, known := n.namespaces[other.Pod.Namespace]
	return known && selects(p.NamespaceSelector, of) && (p.PodSelector == nil || selects(p.PodSelector, other.Pod.Labels))
}

func (n *naive) port(p networkingv1.NetworkPolicyPort, f *policy.Flow) bool {
	if p.Protocol == nil && f.Protocol != corev1.ProtocolTCP || p.Protocol != nil && *p.Protocol != f.Protocol {
		return false
	}
	if p.Port == nil {
		return true
	}
	if p.Port.Type == intstr.Int {
		if p.EndPort != nil {
			return p.Port.IntVal <= f.Port && f.Port <= *p.EndPort
		}
		return p.Port.IntVal == f.Port
	}
	if f.To.Pod == nil || f.To.Pod.Spec.HostNetwork {
		return false
	}
	for _, c := range f.To.Pod.Spec.Containers {
		for _, cp := range c.Ports {
			if cp.Name == p.Port.StrVal && cp.ContainerPort == f.Port && cp.Protocol == f.Protocol {
				return true
			}
		}
	}
	return false
}

func selects(s *metav1.LabelSelector, of map[string]string) bool {
	for key, value := range s.MatchLabels {
		if have, ok := of[key]; !ok || have != value {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		have, ok := of[e.Key]
		is := false
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			is = ok && slices.Contains(e.Values, have)
		case metav1.LabelSelectorOpNotIn:
			is = !ok || !slices.Contains(e.Values, have)
		case metav1.LabelSelectorOpExists:
			is = ok
		case metav1.LabelSelectorOpDoesNotExist:
			is = !ok
		}
		if !is {
			return false
		}
	}
	return true
}
