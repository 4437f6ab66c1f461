package reach

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/network/ends"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/services"
)

// peer returns an end of a connection as faults see it. to is the Service that the connection is for; nil if it is for none, or
// the end is its source.
func (c *Cluster) peer(p policy.Peer, to *services.Frontend) *ends.Peer {
	e := &ends.Peer{Address: p.Address, Pod: p.Pod, Node: nodeOf(&p), APIServer: p.Pod == nil && c.isAPIServer(p.Address)}
	if node := c.nodes[e.Node]; node != nil {
		e.Zone = node.Labels[corev1.LabelTopologyZone]
	}
	e.Services = func() []types.NamespacedName {
		list := c.Services.WithEndpoint(p.Address)
		if to != nil {
			list = append(list, to.Key())
		}
		if p.Pod == nameServerPod {
			list = append(list, dnsKey)
		}
		return list
	}
	return e
}

// disturbed asks for faults between the ends of a connection, and reports whether they lose its packets.
func (c *Cluster) disturbed(q *Query, from policy.Peer, p *Path, to policy.Peer) bool {
	if q.Faults.Empty() {
		return false
	}
	p.Effect = q.Faults.Between(c.peer(from, nil), c.peer(to, p.Frontend), q.chance())
	if by := p.Effect.Dropped; by != nil {
		p.end(TimedOut, "the fault \""+by.Title+"\" loses the packets")
		return true
	}
	return false
}
