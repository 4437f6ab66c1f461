package policy

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type direction int

const (
	ingress direction = iota
	egress
	directions
)

func (d direction) String() string {
	return [directions]string{ingress: "ingress", egress: "egress"}[d]
}

// compiled is a policy with its selectors and addresses parsed.
type compiled struct {
	ref        Ref
	pods       labels.Selector
	directions [directions]bool
	rules      [directions][]rule
	// filed are the labels under which the policy is in its space.
	filed []label
}

// rule is a rule. Nil peers or ports match everything.
type rule struct {
	peers []peer
	ports []port
}

// peer is an entry of From or To: an ipBlock, or a selection of pods.
type peer struct {
	block  netip.Prefix
	except []netip.Prefix
	// namespaces selects the namespaces of pods; nil: those of the policy.
	namespaces labels.Selector
	pods       labels.Selector
	own        string
}

// port is an entry of Ports.
type port struct {
	// protocol is empty if every one matches.
	protocol corev1.Protocol
	// name is a container's port, which the pod gives a number; empty: first to last.
	name string
	// first is 0 if every port of the protocol matches.
	first, last int32
}

func compile(p *networkingv1.NetworkPolicy) *compiled {
	c := &compiled{ref: Ref{p.Namespace, p.Name}, pods: selector(&p.Spec.PodSelector)}
	if len(p.Spec.PolicyTypes) == 0 {
		c.directions[ingress], c.directions[egress] = true, len(p.Spec.Egress) > 0
	}
	for _, t := range p.Spec.PolicyTypes {
		c.directions[ingress] = c.directions[ingress] || t == networkingv1.PolicyTypeIngress
		c.directions[egress] = c.directions[egress] || t == networkingv1.PolicyTypeEgress
	}
	for _, r := range p.Spec.Ingress {
		c.rules[ingress] = append(c.rules[ingress], compileRule(p.Namespace, r.From, r.Ports))
	}
	for _, r := range p.Spec.Egress {
		c.rules[egress] = append(c.rules[egress], compileRule(p.Namespace, r.To, r.Ports))
	}
	return c
}

func compileRule(namespace string, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) rule {
	var r rule
	for _, given := range peers {
		r.peers = append(r.peers, compilePeer(namespace, &given))
	}
	for _, given := range ports {
		r.ports = append(r.ports, compilePort(&given))
	}
	return r
}

func compilePeer(namespace string, given *networkingv1.NetworkPolicyPeer) peer {
	p := peer{own: namespace, pods: labels.Nothing()}
	if given.IPBlock != nil {
		p.block = prefix(given.IPBlock.CIDR)
		for _, text := range given.IPBlock.Except {
			p.except = append(p.except, prefix(text))
		}
		return p
	}
	if given.PodSelector != nil {
		p.pods = selector(given.PodSelector)
	} else if given.NamespaceSelector != nil {
		p.pods = labels.Everything()
	}
	if given.NamespaceSelector != nil {
		p.namespaces = selector(given.NamespaceSelector)
	}
	return p
}

func compilePort(given *networkingv1.NetworkPolicyPort) port {
	p := port{protocol: corev1.ProtocolTCP}
	if given.Protocol != nil {
		p.protocol = *given.Protocol
	}
	switch {
	case given.Port == nil:
	case given.Port.Type == intstr.String:
		p.name = given.Port.StrVal
	default:
		p.first, p.last = given.Port.IntVal, given.Port.IntVal
		if given.EndPort != nil {
			p.last = *given.EndPort
		}
	}
	return p
}

// selector parses a selector. One that the API would have refused selects nothing.
func selector(s *metav1.LabelSelector) labels.Selector {
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return parsed
}

// prefix parses a CIDR; the zero Prefix, which contains nothing, if it is none.
func prefix(text string) netip.Prefix {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}
	}
	return p.Masked()
}

// requiredLabels returns alternatives for filing a selector: each is a list of labels of which every pod that is
// selected has one. Nil means that there is none.
func requiredLabels(s labels.Selector) [][]label {
	if s == nil {
		return nil
	}
	requirements, _ := s.Requirements()
	var all [][]label
	for _, r := range requirements {
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			var pairs []label
			for value := range r.Values() {
				pairs = append(pairs, label{r.Key(), value})
			}
			all = append(all, pairs)
		}
	}
	return all
}
