package reach

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/hostaddress"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/routes"
	"minikcm.dev/minikcm/internal/network/services"
)

// published returns the addresses of the routers that have a rule for a name, as a public name server knows them that follows the
// objects of the cluster.
func (c *Cluster) published(name string) []netip.Addr {
	var list []netip.Addr
	for _, r := range c.Routes.Named(name) {
		s := c.Services.Service(c.Routes.ServiceOf(r))
		if s == nil {
			continue
		}
		for _, point := range s.Status.LoadBalancer.Ingress {
			if a, err := netip.ParseAddr(point.IP); err == nil {
				list = append(list, a.Unmap())
			}
		}
	}
	return list
}

// toRouter connects to a router. Policies and faults see its load balancer's address.
func (c *Cluster) toRouter(q *Query, from policy.Peer, r routes.Router, p *Path) {
	f := p.Frontend
	if !f.Admits(from.Address) {
		p.end(TimedOut, "the Service "+f.Key().String()+": "+services.WhyNotAdmitted(from.Address))
		return
	}
	if !c.Routes.Served(r) {
		p.end(Refused, fmt.Sprintf("the Service %s leads to the %s, which does not exist, is not accepted, or has another controller than %s", f.Key(), r, routes.Controller))
		return
	}
	p.Target = netip.AddrPortFrom(routerAddress(f.Service, p.Target.Addr()), uint16(f.Port.Port))
	if c.lost(q, from, p, policy.Peer{Address: p.Target.Addr()}) {
		return
	}
	p.Router, p.Listener = &r, &Listener{Why: "it is the router of the " + r.String(), TLS: c.Routes.TLSAt(r, f.Port.Port)}
	p.accepted()
}

// routerAddress returns the address of the load balancer of a router's Service, which has the family of the address that was
// connected to, and is that one if there is no load balancer.
func routerAddress(s *corev1.Service, to netip.Addr) netip.Addr {
	for _, point := range s.Status.LoadBalancer.Ingress {
		if a, err := netip.ParseAddr(point.IP); err == nil && a.Is4() == to.Is4() {
			return a
		}
	}
	return to
}

// Forwarded says what a router does with a request.
type Forwarded struct {
	routes.Decision
	// Next is the way from the router to an endpoint of the backend; nil if the router answers itself, unless the endpoint cannot be
	// reached.
	Next *Path
	// HTTP2 means that the backend's port speaks HTTP/2 without TLS.
	HTTP2 bool
	// Mirrors are the ways to servers that get copies of the request.
	Mirrors []*Path
}

// Forward says what the router at the end of a path does with a request. The query has what depends on the cluster. The number is the
// request's among those from outside, whose connections may have many of them.
// A further attempt, counted from 0, goes to the next endpoint.
func (c *Cluster) Forward(q *Query, p *Path, number uint64, r *routes.Request, attempt int) *Forwarded {
	random := p.random
	if nodeOf(&q.From) == "" {
		random = number * stride
	}
	d := &Forwarded{Decision: c.Routes.Route(*p.Router, r, random)}
	if d.Rule != nil && attempt == 0 {
		mirrors := d.Rule.Filters.Mirrors
		if d.Backend != nil {
			mirrors = append(slices.Clip(mirrors), d.Backend.Filters.Mirrors...)
		}
		for i := range mirrors {
			mirror, number := &Forwarded{}, (random+uint64(i))*stride
			if !mirrors[i].Chosen(number * stride) {
				continue
			}
			if c.toBackend(q, p, number, 0, &mirrors[i].Backend, mirror); mirror.Next != nil && mirror.Status == 0 && mirror.Next.Outcome == Connected {
				d.Mirrors = append(d.Mirrors, mirror.Next)
			}
		}
	}
	if d.Status == 0 && d.Backend != nil {
		c.toBackend(q, p, random*stride, attempt, d.Backend, d) // another number than the one that has chosen the backend
	}
	return d
}

// stride spreads consecutive numbers evenly: it is 2^64 divided by the golden ratio.
const stride = 0x9E3779B97F4A7C15

// answer ends the way with an answer of the router.
func (d *Forwarded) answer(status int, why string) { d.Status, d.Why = status, why }

// maxTries caps the endpoints that a router tries for one request: a refused connection costs no time, and the next endpoint may
// accept one.
const maxTries = 3

// toBackend connects a router with an endpoint of a backend, or with the next one while connections are refused.
func (c *Cluster) toBackend(q *Query, p *Path, random uint64, attempt int, b *routes.Backend, d *Forwarded) {
	s := c.Services.Service(b.Service)
	if s == nil {
		d.answer(routes.StatusServiceUnavailable, "the Service "+b.Service.String()+" does not exist")
		return
	}
	port := portNamed(s, b)
	switch {
	case port == nil:
		d.answer(routes.StatusServiceUnavailable, "the Service has no port "+b.String())
		return
	case hostaddress.Of(s, port.Port) != "":
		inner := *q
		inner.From, inner.Affinities, inner.Random = policy.Peer{Address: p.Target.Addr()}, nil, random
		d.Next = &Path{Frontend: &services.Frontend{Service: s, Port: port, By: services.ByClusterIP, IPv6: p.Target.Addr().Is6()}, Protocol: corev1.ProtocolTCP, random: random}
		d.Next.Source, d.Next.Target = inner.From, netip.AddrPortFrom(p.Target.Addr(), uint16(port.Port))
		c.lead(&inner, inner.From, hostaddress.Of(s, port.Port), d.Next)
		d.ended()
		return
	case s.Spec.Type == corev1.ServiceTypeExternalName:
		d.answer(routes.StatusBadGateway, "the Service "+b.Service.String()+" is one of type ExternalName, which routers do not follow")
		return
	}
	d.HTTP2 = port.AppProtocol != nil && *port.AppProtocol == "kubernetes.io/h2c"
	f := &services.Frontend{Service: s, Port: port, By: services.ByClusterIP, IPv6: p.Target.Addr().Is6()}
	ready := c.Services.ReadyEndpoints(f)
	if len(ready) == 0 {
		d.answer(routes.StatusServiceUnavailable, "no endpoint of the Service "+b.Service.String()+" is ready")
		return
	}
	inner := *q
	inner.From, inner.Affinities, inner.Random = policy.Peer{Address: p.Target.Addr()}, nil, random
	// The high bits are spread more evenly than the low ones.
	first := (random>>32)%uint64(len(ready)) + uint64(attempt)
	for i := range uint64(min(len(ready), maxTries)) {
		endpoint := ready[(first+i)%uint64(len(ready))]
		d.Next = c.connect(&inner, inner.From, endpoint.Address, &Path{Protocol: corev1.ProtocolTCP, random: random})
		if d.Next.Outcome != Refused {
			break
		}
	}
	d.ended()
}

// ended makes an answer of the router of a way that leads to no server.
func (d *Forwarded) ended() {
	switch d.Next.Outcome {
	case Connected:
	case TimedOut:
		d.answer(routes.StatusGatewayTimeout, d.Next.Why)
	default:
		d.answer(routes.StatusBadGateway, d.Next.Why)
	}
}

// portNamed returns the port of a Service that a backend names; nil if it has none, or not for TCP.
func portNamed(s *corev1.Service, b *routes.Backend) *corev1.ServicePort {
	for i := range s.Spec.Ports {
		port := &s.Spec.Ports[i]
		if (port.Protocol == "" || port.Protocol == corev1.ProtocolTCP) && (b.PortName != "" && port.Name == b.PortName || b.PortName == "" && port.Port == b.Port) {
			return port
		}
	}
	return nil
}
