package routes

import "k8s.io/apimachinery/pkg/types"

// Gateway has the rules of a Gateway.
type Gateway struct {
	// Service is the Service that leads to its router.
	Service   types.NamespacedName
	Listeners []*Listener
}

// Listener is a listener of a Gateway that accepts requests.
type Listener struct {
	Name string
	Port int32
	// Host is the host that it is for; empty: any.
	Host         string
	TLS          bool
	Certificates []types.NamespacedName

	rules byHost[*paths]
}

// Add adds a rule.
func (l *Listener) Add(r *Rule) { add(&l.rules, r) }

// SetGateways replaces the Gateways.
func (t *Table) SetGateways(all map[Router]*Gateway) { t.gateways = all }

// TLSAt reports whether a router expects TLS at a port.
func (t *Table) TLSAt(r Router, port int32) bool {
	if r.Namespace == "" {
		return port == HTTPSPort
	}
	for _, l := range t.gateways[r].Listeners {
		if l.Port == port && l.TLS {
			return true
		}
	}
	return false
}

// listener returns the listener for requests with a host: the one with the most specific host; nil if there is none. The Gateway may be
// nil.
func (g *Gateway) listener(host string, port int32) *Listener {
	if g == nil {
		return nil
	}
	var best *Listener
	for _, l := range g.Listeners {
		if l.Port == port && Covers(l.Host, host) && (best == nil || specificity(l.Host) > specificity(best.Host)) {
			best = l
		}
	}
	return best
}

// find returns the rule for a request, or why there is none.
func (g *Gateway) find(r *Request) (rule *Rule, status int, why string) {
	l := g.listener(r.Host, r.Port)
	if l == nil {
		return nil, StatusNotFound, "no listener"
	}
	if r.ServerName != "" && g.listener(r.ServerName, r.Port) != l {
		return nil, StatusMisdirected, "no listener for " + r.ServerName
	}
	if rule := find(&l.rules, r, true); rule != nil {
		return rule, 0, ""
	}
	return nil, StatusNotFound, "no rule at the listener " + l.Name
}

// specificity orders hosts: names come before wildcards, and long wildcards before short ones.
func specificity(host string) int {
	if host != "" && host[0] != '*' {
		return 1 << 16
	}
	return len(host)
}

// Covers reports whether a host of a listener or route, which may be a wildcard or empty, stands for a host, which may be one, too.
func Covers(pattern, host string) bool {
	if pattern == "" || pattern == host {
		return true
	}
	return len(pattern) > 1 && pattern[0] == '*' && len(host) >= len(pattern) && host[len(host)-len(pattern)+1:] == pattern[1:] && !isAddress(host)
}
