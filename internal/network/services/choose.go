package services

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Node is the node on which a connection to a Service is translated, in its rules.
type Node struct {
	Name string
	// Zone is the node's label topology.kubernetes.io/zone.
	Zone string
}

// Result is what the rules of a node do with a connection.
type Result string

// The results.
const (
	// Sent: to one of the endpoints.
	Sent Result = "sent"
	// Rejected: the client's connection is refused.
	Rejected Result = "rejected"
	// Dropped: the client gets no answer.
	Dropped Result = "dropped"
)

// Choice is what the rules of a node do with a connection to a Service.
type Choice struct {
	Result Result
	// Why says why the connection is not sent, or why only some of the endpoints are candidates; may be empty.
	Why string
	// Candidates are the endpoints of which each may get the connection, sorted by address.
	Candidates []Endpoint
	// Masquerade means that the endpoint sees the node's address as the client's.
	Masquerade bool
}

// Choose says what the rules of a node do with a connection from an address. local means that the address is the node's
// or that of a pod on it, so that the connection does not come from another machine.
func (r Rules) Choose(f *Frontend, node *Node, from netip.Addr, local bool) Choice {
	all := selected(r.Endpoints(f), func(e *Endpoint) bool { return !e.unproxied })
	external := f.By != ByClusterIP
	spec := &f.Service.Spec
	onlyLocal := spec.InternalTrafficPolicy != nil && *spec.InternalTrafficPolicy == corev1.ServiceInternalTrafficPolicyLocal
	if external {
		onlyLocal = spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal && !local
	}
	usable := false
	for i := range all {
		usable = usable || all[i].Ready || all[i].leaving()
	}
	switch {
	case !usable:
		return Choice{Result: Rejected, Why: whyUnusable(all)}
	case !f.Admits(from):
		return Choice{Result: Dropped, Why: WhyNotAdmitted(from)}
	}
	var c Choice
	if onlyLocal {
		c = localChoice(all, node)
	} else {
		c = clusterChoice(all, node)
	}
	c.Masquerade = external && spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal
	return c
}

// Admits reports whether the source ranges of a load balancer let an address in.
func (f *Frontend) Admits(from netip.Addr) bool {
	return f.By != ByLoadBalancer || inRanges(f.Service.Spec.LoadBalancerSourceRanges, from)
}

// WhyNotAdmitted says why an address is not admitted.
func WhyNotAdmitted(from netip.Addr) string {
	return from.String() + " is not in loadBalancerSourceRanges"
}

func whyUnusable(all []Endpoint) string {
	if len(all) == 0 {
		return "it has no endpoints"
	}
	return "none of its endpoints is ready"
}

// localChoice chooses among the endpoints of the node.
func localChoice(all []Endpoint, node *Node) Choice {
	local := selected(all, func(e *Endpoint) bool { return e.Node == node.Name && e.Ready })
	if len(local) == 0 {
		local = selected(all, func(e *Endpoint) bool { return e.Node == node.Name && e.leaving() })
	}
	if len(local) == 0 {
		return Choice{Result: Dropped, Why: "its traffic policy is Local, and it has no endpoint on node " + node.Name}
	}
	return Choice{Result: Sent, Candidates: local, Why: "its traffic policy is Local"}
}

// clusterChoice chooses among all endpoints, as their hints say.
func clusterChoice(all []Endpoint, node *Node) Choice {
	ready := selected(all, func(e *Endpoint) bool { return e.Ready })
	if len(ready) == 0 {
		return Choice{Result: Sent, Candidates: selected(all, (*Endpoint).leaving), Why: "no endpoint is ready, and these are terminating"}
	}
	hinted := func(hints func(*Endpoint) []string, name string) []Endpoint {
		if name == "" || slices.ContainsFunc(ready, func(e Endpoint) bool { return len(hints(&e)) == 0 }) {
			return nil
		}
		return selected(ready, func(e *Endpoint) bool { return slices.Contains(hints(e), name) })
	}
	if near := hinted(func(e *Endpoint) []string { return e.nodes }, node.Name); near != nil {
		return Choice{Result: Sent, Candidates: near, Why: "hints prefer endpoints for node " + node.Name}
	}
	if near := hinted(func(e *Endpoint) []string { return e.zones }, node.Zone); near != nil {
		return Choice{Result: Sent, Candidates: near, Why: "hints prefer endpoints for zone " + node.Zone}
	}
	return Choice{Result: Sent, Candidates: ready}
}

// selected returns the endpoints for which keep is true; nil if there are none. The list must not be changed.
func selected(all []Endpoint, keep func(*Endpoint) bool) []Endpoint {
	n := 0
	for i := range all {
		if keep(&all[i]) {
			n++
		}
	}
	switch n {
	case 0:
		return nil
	case len(all):
		return all
	}
	list := make([]Endpoint, 0, n)
	for i := range all {
		if keep(&all[i]) {
			list = append(list, all[i])
		}
	}
	return list
}

// inRanges reports whether loadBalancerSourceRanges let an address in. Only ranges of its family count, and none, or one of
// all addresses, lets every address in.
func inRanges(ranges []string, from netip.Addr) bool {
	from = from.Unmap()
	some := false
	for _, text := range ranges {
		p, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil || p.Addr().Is6() != from.Is6() {
			continue
		}
		some = true
		if p.Bits() == 0 || p.Contains(from) {
			return true
		}
	}
	return !some
}

// Affinities are the endpoints to which a node has sent the connections of clients to Services with
// session affinity. The zero value is empty.
type Affinities struct {
	last map[affinityKey]affinity
}

type affinityKey struct {
	client  netip.Addr
	service Key
	port    string
	ipv6    bool
}

type affinity struct {
	endpoint netip.AddrPort
	at       time.Time
}

// maxAffinities bounds what a node remembers. When it is reached, everything is forgotten.
const maxAffinities = 100_000

// Pick returns the endpoint of a choice that gets the connection: the one that the client's last connection within the
// Service's time-out went to, if it is a candidate, otherwise the one that random selects.
func (a *Affinities) Pick(f *Frontend, c *Choice, client netip.Addr, now time.Time, random uint64) *Endpoint {
	chosen := &c.Candidates[random%uint64(len(c.Candidates))]
	if f.Service.Spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		return chosen
	}
	key := affinityKey{client: client, service: f.Key(), port: f.Port.Name, ipv6: f.IPv6}
	if before, ok := a.last[key]; ok && now.Sub(before.at) < timeout(f.Service) {
		for i := range c.Candidates {
			if c.Candidates[i].Address == before.endpoint {
				chosen = &c.Candidates[i]
			}
		}
	}
	if a.last == nil || len(a.last) >= maxAffinities {
		a.last = map[affinityKey]affinity{}
	}
	a.last[key] = affinity{chosen.Address, now}
	return chosen
}

// defaultTimeout is the session affinity's time-out of a Service that does not state one.
const defaultTimeout = 3 * time.Hour

func timeout(s *corev1.Service) time.Duration {
	if c := s.Spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
		return time.Duration(*c.ClientIP.TimeoutSeconds) * time.Second
	}
	return defaultTimeout
}
