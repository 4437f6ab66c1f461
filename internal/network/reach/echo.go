package reach

import (
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/policy"
)

// ICMP is the protocol of an echo request, such as ping sends. It has no ports. Rules of policies without ports allow it, those with
// ports do not, and rules of Services do not translate it.
const ICMP corev1.Protocol = "ICMP"

// echo says whether an echo request is answered: by the kernel of the pod or node that has the address.
func (c *Cluster) echo(q *Query, from policy.Peer, p *Path) *Path {
	address := p.Target.Addr()
	pod, node := c.pods[address], c.byAddress[address]
	to := policy.Peer{Address: address}
	switch _, owned := c.Services.Owner(address); {
	case address.IsLoopback():
		p.Pod, p.Node = from.Pod, nodeOf(&from)
		return p.end(Connected, "")
	case !from.Address.IsValid():
		return p.end(Unreachable, "the source has no address of the family of "+address.String())
	case pod != nil:
		p.Pod, p.Node, to.Pod = pod, pod.Spec.NodeName, pod
	case node != "":
		p.Node, to.Node = node, node
	case owned || address == c.NameServer():
		return p.end(TimedOut, "kube-proxy answers no echo requests at "+address.String())
	default:
		return c.elsewhere(q, from, p)
	}
	if c.lost(q, from, p, to) {
		return p
	}
	return p.end(Connected, "")
}
