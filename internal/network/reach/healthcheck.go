package reach

import (
	"net/netip"

	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/services"
)

// HealthCheck is the state of a Service for which a load balancer asks kube-proxy.
type HealthCheck struct {
	Service services.Key
	// Local is the number of the ready endpoints on the node.
	Local int
}

// toHealthCheck connects to the health check node port of a Service on a node, as the node's rules know it.
func (c *Cluster) toHealthCheck(q *Query, from policy.Peer, node string, f *services.Frontend, p *Path) {
	p.Node = node
	if c.lost(q, from, p, policy.Peer{Address: p.Target.Addr(), Node: node}) {
		return
	}
	rules, local := c.rules(node, q.Now), map[netip.Addr]bool{}
	p.Stale = c.stale(node, rules, f.Key())
	for i := range f.Service.Spec.Ports {
		port := &services.Frontend{Service: f.Service, Port: &f.Service.Spec.Ports[i], IPv6: f.IPv6}
		for _, e := range rules.Endpoints(port) {
			if e.Ready && e.Node == node {
				local[e.Address.Addr()] = true
			}
		}
	}
	p.HealthCheck = &HealthCheck{f.Key(), len(local)}
	p.Listener = &Listener{Why: "kube-proxy answers health checks of the Service " + f.Key().String()}
	p.accepted()
}
