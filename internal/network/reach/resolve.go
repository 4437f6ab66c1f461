package reach

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/faults"
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
		if addresses = c.published(strings.ToLower(q.Host)); len(addresses) > 0 {
			return addresses, false
		}
		p.end(NoSuchHost, "names of the cluster are not known outside of it")
		return nil, true
	}
	served := c.Server(q)
	p.LookupEffect, p.Lookup = served.Effect, served.Late
	r, outcome, why := served.lookup(q.Host)
	p.Resolution, p.misled = r, served.by
	if outcome != Connected {
		p.Query = served.way
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

// Served holds what the name server of a query's source answers.
type Served struct {
	// Zone has the names that the server knows, and Config the configuration of the source's resolver.
	Zone   *dns.Zone
	Config *dns.Config
	// Outcome is Connected if the server answers; Why says why not.
	Outcome Outcome
	Why     string
	// Failure says how queries end that the server does not answer: TimedOut, Refused, NoRoute or Unreachable.
	Failure Outcome
	// Outside means that the server is none of the cluster: nothing is known of it.
	Outside bool
	// Effect says what faults of the network do to queries, and Late how much longer one takes because of them.
	Effect *faults.Effect
	Late   time.Duration

	// by is the fault that has answered the last query in place of the server, and way the way to a server that does not answer.
	by  *faults.Rule
	way *Path
}

// lookup resolves a name as the source's resolver does. The outcome is Connected if the name has addresses.
func (s *Served) lookup(name string) (*dns.Resolution, Outcome, string) {
	if s.Outcome != Connected {
		return nil, s.Outcome, s.Why
	}
	r := s.Zone.Resolve(s.Config, name)
	because := ""
	if s.by != nil {
		because = ": the fault \"" + s.by.Title + "\" answers"
	}
	switch {
	case r.Code == dns.Outside:
		return &r, Unknown, dns.WhyOutside(r.Name, r.Records)
	case r.Code == dns.ServFail:
		return &r, ServerFailure, "the name server answers " + string(r.Code) + " for " + r.Name + because
	case r.Code == dns.NoAnswer:
		return &r, NoNameServer, "no name server answers for " + r.Name + because
	case r.Code == dns.NXDomain:
		return &r, NoSuchHost, "no name server knows " + name + because
	case len(r.Addresses) == 0:
		return &r, NoSuchHost, name + " has no address" + because
	}
	return &r, Connected, ""
}

// Server returns what the name server of the query's source answers.
func (c *Cluster) Server(q *Query) *Served {
	s := &Served{Config: q.Resolver, Outcome: Connected}
	if s.Config == nil {
		s.Config = &dns.Config{}
		if q.From.Pod != nil {
			*s.Config = c.ResolverOf(q.From.Pod)
		}
	}
	server := c.NameServer()
	if !server.IsValid() || !slices.ContainsFunc(s.Config.Nameservers, func(text string) bool { return text == server.String() || text == c.DNS.String() }) {
		if other, given := firstServer(s.Config); given {
			if c.query(q, other, q.Listens, s); s.Outcome != Connected {
				return s
			}
			if slices.Contains(c.Services.WithEndpoint(other), dnsKey) {
				s.Zone = c.zone()
				return s
			}
		}
		// The node's own server, and one of which nothing is known, know nothing of the cluster.
		s.Zone = &dns.Zone{Domain: c.Domain, Services: &services.Table{}, HasNamespace: func(string) bool { return false }, Published: c.published}
		return s
	}
	if c.query(q, server, nil, s); s.Outcome == Connected {
		s.Zone = c.zone()
		if answers := q.Faults.Answers(c.peer(sourceFor(c, q.From, server), nil), s.Config.Searches, q.chance()); answers != nil {
			s.Zone.Instead = func(name string, t dns.Type) (dns.Answer, bool) {
				answer, by := answers(name, t)
				s.by = by
				return answer, by != nil
			}
		}
	}
	return s
}

// firstServer returns the first name server of a configuration, if it is an address.
func firstServer(config *dns.Config) (server netip.Addr, given bool) {
	for _, text := range config.Nameservers[:min(1, len(config.Nameservers))] {
		if address, err := netip.ParseAddr(text); err == nil {
			return address, true
		}
	}
	return netip.Addr{}, false
}

// query finds out whether the source's queries reach a name server. One outside of the cluster is assumed to answer. Without listens, pods serve names.
func (c *Cluster) query(q *Query, server netip.Addr, listens func(*corev1.Pod, int32, corev1.Protocol) *Listener, s *Served) {
	inner := *q
	inner.Affinities = nil
	if inner.Listens = listens; listens == nil {
		inner.Listens = func(*corev1.Pod, int32, corev1.Protocol) *Listener { return &Listener{} }
	}
	p := c.connect(&inner, sourceFor(c, q.From, server), netip.AddrPortFrom(server, dnsPort), &Path{Protocol: corev1.ProtocolUDP})
	s.Effect, s.Failure = p.Effect, p.Outcome
	why := p.Why
	if s.Outside = p.Outcome == Unknown; s.Outside {
		return
	}
	if p.Outcome == Connected || p.Outcome == Reset { // there is nothing to reset
		if p.Effect == nil {
			return
		}
		var by *faults.Rule
		if by, s.Late = p.Effect.Query(q.chance()); by == nil {
			return
		}
		s.Failure, why = TimedOut, "the fault \""+by.Title+"\" loses the packets"
	}
	s.way = p
	s.Outcome, s.Why = NoNameServer, "the name server "+server.String()+" does not answer: "+why
}

// nameServerPod is for policies what the name server is in every cluster: a pod of kube-system with the label k8s-app=kube-dns.
var nameServerPod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "name server", Labels: map[string]string{dnsLabel: dnsService}}}

// toNameServer connects to the name server of a cluster without a Service kube-dns that selects pods. done is false if the path
// leads elsewhere.
func (c *Cluster) toNameServer(q *Query, from policy.Peer, p *Path) (done bool) {
	s := c.dnsService()
	if p.Target.Addr() != c.NameServer() || s != nil && len(s.Spec.Selector) > 0 {
		return false
	}
	p.nameServer = true
	if s != nil {
		p.Frontend = c.rules(nodeOf(&from), q.Now).Find(p.Target.Addr(), int32(p.Target.Port()), p.Protocol)
	}
	if p.Target.Port() != dnsPort || p.Protocol == corev1.ProtocolSCTP {
		p.end(TimedOut, "the name server has no port "+portName(p.Protocol, p.Target.Port()))
		return true
	}
	if !c.lost(q, from, p, policy.Peer{Address: p.Target.Addr(), Pod: nameServerPod}) {
		p.Listener = &Listener{Why: "it is the cluster's name server", Unknown: true}
		p.accepted()
	}
	return true
}
