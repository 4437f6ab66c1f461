package reach

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/services"
)

func portName(protocol corev1.Protocol, port uint16) string {
	return fmt.Sprintf("%s %d", protocol, port)
}

// resolve returns the addresses of the query's host. ended means that there are none, and the path says why.
func (c *Cluster) resolve(q *Query, p *Path) (addresses []netip.Addr, ended bool) {
	if address, err := netip.ParseAddr(q.Host); err == nil {
		return []netip.Addr{address.Unmap().WithZone("")}, false
	}
	if q.Hosts != nil {
		if found := q.Hosts(q.Host); len(found) > 0 {
			return found, false
		}
	}
	if q.From.Pod == nil && q.From.Node == "" && q.Resolver == nil {
		p.end(NoSuchHost, "names of the cluster are not known outside of it")
		return nil, true
	}
	r, outcome, why := c.Lookup(q, q.Host)
	p.Resolution = r
	if outcome != Connected {
		p.end(outcome, why)
		return nil, true
	}
	return r.Addresses, false
}

// ResolverOf returns the configuration of a pod's resolver.
func (c *Cluster) ResolverOf(pod *corev1.Pod) dns.Config {
	server := ""
	if a := c.NameServer(); a.IsValid() {
		server = a.String()
	}
	return dns.ConfigOf(pod, server, c.Domain, dns.Config{})
}

// Lookup resolves a name as the source's resolver does. The outcome is Connected if the name has addresses.
func (c *Cluster) Lookup(q *Query, name string) (*dns.Resolution, Outcome, string) {
	zone, config, outcome, why := c.Server(q)
	if outcome != Connected {
		return nil, outcome, why
	}
	r := zone.Resolve(config, name)
	switch {
	case r.Code == dns.Outside:
		return &r, Unknown, r.Name + " is a name outside of the cluster"
	case r.Code == dns.NXDomain:
		return &r, NoSuchHost, "no name server knows " + name
	case len(r.Addresses) == 0:
		return &r, NoSuchHost, name + " has no address"
	}
	return &r, Connected, ""
}

// Server returns what the name server of the query's source knows, and the configuration of the source's resolver. The outcome
// is Connected if the server answers.
func (c *Cluster) Server(q *Query) (*dns.Zone, *dns.Config, Outcome, string) {
	config := q.Resolver
	if config == nil {
		config = &dns.Config{}
		if q.From.Pod != nil {
			*config = c.ResolverOf(q.From.Pod)
		}
	}
	server := c.NameServer()
	asks := func(text string) bool { return text == server.String() || text == c.DNS.String() }
	if !server.IsValid() || !slices.ContainsFunc(config.Nameservers, asks) {
		// The node's own server knows nothing of the cluster.
		return &dns.Zone{Domain: c.Domain, Services: &services.Table{}, HasNamespace: func(string) bool { return false }}, config, Connected, ""
	}
	if why := c.askable(q, server); why != "" {
		return nil, config, NoNameServer, why
	}
	return c.zone(), config, Connected, ""
}

// askable returns why the source's queries do not reach the cluster's name server; empty if they do.
func (c *Cluster) askable(q *Query, server netip.Addr) string {
	inner := *q
	inner.Affinities = nil
	inner.Listens = func(*corev1.Pod, int32, corev1.Protocol) *Listener { return &Listener{} }
	p := c.connect(&inner, sourceFor(c, q.From, server), netip.AddrPortFrom(server, dnsPort), &Path{Protocol: corev1.ProtocolUDP})
	if p.Outcome != Connected {
		return "the name server " + server.String() + " does not answer: " + p.Why
	}
	return ""
}

// nameServerPod is for policies what the name server is in every cluster: a pod of kube-system with the label k8s-app=kube-dns.
var nameServerPod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "name server", Labels: map[string]string{dnsLabel: dnsService}}}

// toNameServer connects to the name server of a cluster without a Service kube-dns that selects pods. done is false if the path
// leads elsewhere.
func (c *Cluster) toNameServer(q *Query, from policy.Peer, p *Path) (done bool) {
	if s := c.dnsService(); p.Target.Addr() != c.NameServer() || s != nil && len(s.Spec.Selector) > 0 {
		return false
	}
	if p.Target.Port() != dnsPort || p.Protocol == corev1.ProtocolSCTP {
		p.end(TimedOut, "the name server has no port "+portName(p.Protocol, p.Target.Port()))
		return true
	}
	if !c.forbidden(from, p, policy.Peer{Address: p.Target.Addr(), Pod: nameServerPod}) && !c.cut(q, from, p) {
		p.Listener = &Listener{Why: "it is the cluster's name server", Unknown: true}
		p.end(Connected, "")
	}
	return true
}
