package reach

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/services"
)

// The ports at which kube-proxy answers: healthPort at all addresses of its node, modePort at the loopback interface.
const (
	healthPort = 10256
	modePort   = 10249
)

// HealthCheck is a question to kube-proxy: for the state of a Service, by a load balancer, or its own.
type HealthCheck struct {
	// Service is empty for kube-proxy's own state.
	Service services.Key
	// Local is the number of the ready endpoints on the node.
	Local int
}

// toProxy connects to kube-proxy on a node; ok is false if the port is none of its own.
func (p *Path) toProxy(node string) (ok bool) {
	port := p.Target.Port()
	if p.Protocol != corev1.ProtocolTCP || port != healthPort && (port != modePort || !p.Target.Addr().IsLoopback()) {
		return false
	}
	p.HealthCheck = &HealthCheck{}
	p.Listener = &Listener{Why: "kube-proxy of node " + node}
	p.accepted()
	return true
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
	p.HealthCheck = &HealthCheck{Service: f.Key(), Local: len(local)}
	p.Listener = &Listener{Why: "kube-proxy answers health checks of the Service " + f.Key().String()}
	p.accepted()
}
