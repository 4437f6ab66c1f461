package reach

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/services"
)

// apiServerKey names the Service of the API server. The addresses in its EndpointSlices are the API servers', unless a pod has them.
var apiServerKey = services.Key{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}

// apiServerPort is the port of an API server without a socket, which is in no EndpointSlice.
const apiServerPort = 6443

// withoutSocket returns the address of an API server that no other program reaches. It is one reserved for documentation, as the
// server itself advertises it on a machine without a network.
func withoutSocket(ipv6 bool) netip.Addr {
	if ipv6 {
		return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1})
	}
	return netip.AddrFrom4([4]byte{192, 0, 2, 1})
}

// apiServers returns the addresses and ports of the API servers.
func (c *Cluster) apiServers() []netip.AddrPort {
	known := c.Services.Slices(apiServerKey)
	if s := c.Services.Service(apiServerKey); s != nil && len(known) == 0 {
		var list []netip.AddrPort
		for _, ip := range services.ClusterIPs(s) {
			if a, err := netip.ParseAddr(ip); err == nil {
				list = append(list, netip.AddrPortFrom(withoutSocket(a.Is6()), apiServerPort))
			}
		}
		return list
	}
	var list []netip.AddrPort
	for _, slice := range known {
		for i := range slice.Endpoints {
			for _, text := range slice.Endpoints[i].Addresses {
				a, err := netip.ParseAddr(text)
				if err != nil || c.pods[a] != nil {
					continue
				}
				for _, p := range slice.Ports {
					if p.Port != nil {
						list = append(list, netip.AddrPortFrom(a, uint16(*p.Port)))
					}
				}
			}
		}
	}
	return list
}

// isAPIServer reports whether an API server has an address.
func (c *Cluster) isAPIServer(a netip.Addr) bool {
	if !a.IsValid() || c.pods[a] != nil {
		return false
	}
	if len(c.Services.Slices(apiServerKey)) == 0 {
		return a == withoutSocket(a.Is6()) && c.Services.Service(apiServerKey) != nil
	}
	return slices.Contains(c.Services.WithEndpoint(a), apiServerKey)
}

// apiServer returns the API server as the source of a connection.
func (c *Cluster) apiServer() (from policy.Peer, port int32) {
	if all := c.apiServers(); len(all) > 0 {
		return policy.Peer{Address: all[0].Addr()}, int32(all[0].Port())
	}
	return policy.Peer{Address: withoutSocket(false)}, apiServerPort
}

// toAPIServer connects to the address of an API server.
func (c *Cluster) toAPIServer(q *Query, from policy.Peer, p *Path) *Path {
	p.Node = c.byAddress[p.Target.Addr()]
	if c.lost(q, from, p, policy.Peer{Address: p.Target.Addr(), Node: p.Node}) {
		return p
	}
	switch {
	case p.Protocol == corev1.ProtocolTCP && slices.Contains(c.apiServers(), p.Target):
		p.APIServer, p.Listener = true, &Listener{Why: "it is the API server", TLS: true}
		return p.accepted()
	case p.Node != "":
		return c.onNode(q, from, p.Node, p)
	}
	return p.end(Unknown, p.Target.String()+" is outside of the cluster")
}

// chooseForAPIServer chooses an endpoint for a call of the API server, which has no rules of Services: a ready one, or one that ends
// but still serves if none is ready.
func (c *Cluster) chooseForAPIServer(q *Query, p *Path) (done bool) {
	f := p.Frontend
	choice := &services.Choice{Candidates: c.Services.ReadyEndpoints(f)}
	if len(choice.Candidates) == 0 {
		choice.Candidates = slices.DeleteFunc(slices.Clone(c.Services.Endpoints(f)), func(e services.Endpoint) bool { return !e.Serving })
	}
	p.Choice = choice
	if len(choice.Candidates) == 0 {
		p.end(Refused, "no endpoints available for service \""+f.Service.Name+"\"")
		return true
	}
	p.Endpoint = &choice.Candidates[(q.Random>>32)%uint64(len(choice.Candidates))]
	p.Target = p.Endpoint.Address
	return false
}
