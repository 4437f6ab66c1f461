package gateways

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/network/routes"
)

// attach attaches a route to the Gateways that it names, and returns its statuses there.
func (s *Snapshot) attach(r *Route, all map[types.NamespacedName]*gateway) []ParentStatus {
	var statuses []ParentStatus
	var made *compiled
	for _, ref := range r.Spec.ParentRefs {
		if ptr.Deref(ref.Group, Group) != Group || ptr.Deref(ref.Kind, GatewayKind) != GatewayKind {
			continue
		}
		g := all[types.NamespacedName{Namespace: ptr.Deref(ref.Namespace, r.Namespace), Name: ref.Name}]
		if g == nil {
			continue
		}
		if made == nil {
			made = s.compile(r)
		}
		accepted := condition(accepting, true, accepting, "the route is accepted", r.Generation)
		if reason, message := s.attachTo(r, made, g, &ref); reason != "" {
			accepted = condition(accepting, false, reason, message, r.Generation)
		}
		refs := condition(resolved, true, resolved, "all references exist", r.Generation)
		if made.unresolved[0] != "" {
			refs = condition(resolved, false, made.unresolved[0], made.unresolved[1], r.Generation)
		}
		statuses = append(statuses, ParentStatus{ParentRef: ref, ControllerName: routes.Controller, Conditions: []metav1.Condition{accepted, refs}})
	}
	return statuses
}

// attachTo attaches a route to the listeners of a Gateway. The reason says why it is attached to none; empty: it is.
func (s *Snapshot) attachTo(r *Route, made *compiled, g *gateway, ref *ParentReference) (reason, message string) {
	if made.refused[0] != "" {
		return made.refused[0], made.refused[1]
	}
	named := slices.DeleteFunc(slices.Clone(g.listeners), func(l *listener) bool {
		return ref.SectionName != nil && *ref.SectionName != l.Name || ref.Port != nil && *ref.Port != l.Port
	})
	if len(named) == 0 {
		return noMatchingOne, "the Gateway has no such listener"
	}
	allowed := slices.DeleteFunc(named, func(l *listener) bool { return !s.allows(l, g, r) })
	if len(allowed) == 0 {
		return "NotAllowedByListeners", "no listener allows the route"
	}
	attached := false
	for _, l := range allowed {
		hosts := intersection(l.host, r.Spec.Hostnames)
		if len(hosts) == 0 {
			continue
		}
		attached = true
		l.attached++
		if l.rules == nil {
			continue
		}
		for _, host := range hosts {
			for _, rule := range made.rules {
				own := *rule
				own.Host = host
				l.rules.Add(&own)
			}
		}
	}
	if !attached {
		return "NoMatchingListenerHostname", "no listener has one of the hostnames"
	}
	return "", ""
}

// allows reports whether a listener allows a route by its kind and namespace.
func (s *Snapshot) allows(l *listener, g *gateway, r *Route) bool {
	if len(l.kinds) == 0 {
		return false
	}
	from, selector := "Same", (*metav1.LabelSelector)(nil)
	if l.AllowedRoutes != nil && l.AllowedRoutes.Namespaces != nil {
		from, selector = ptr.Deref(l.AllowedRoutes.Namespaces.From, from), l.AllowedRoutes.Namespaces.Selector
	}
	switch from {
	case "All":
		return true
	case "Same":
		return r.Namespace == g.Namespace
	case "Selector":
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		return err == nil && parsed.Matches(labels.Set(s.Namespace(r.Namespace)))
	}
	return false
}

// intersection returns the hosts that both a listener and a route are for; the empty one is any.
func intersection(listener string, hostnames []string) []string {
	if len(hostnames) == 0 {
		return []string{listener}
	}
	var both []string
	for _, h := range hostnames {
		switch h = strings.ToLower(h); {
		case routes.Covers(listener, h):
			both = append(both, h)
		case routes.Covers(h, listener):
			both = append(both, listener)
		}
	}
	slices.Sort(both)
	return slices.Compact(both)
}

// compiled has the rules of a route.
type compiled struct {
	rules []*routes.Rule
	// refused and unresolved say why it is not accepted, and which reference has no effect, with the reason first.
	refused, unresolved [2]string
}

func (c *compiled) refuse(format string, args ...any) {
	c.refused = [2]string{unsupported, fmt.Sprintf(format, args...)}
}

// compile makes the rules of a route. Their hosts are missing.
func (s *Snapshot) compile(r *Route) *compiled {
	c := &compiled{}
	for n := range r.Spec.Rules {
		given := &r.Spec.Rules[n]
		rule := routes.Rule{Kind: RouteKind, Object: keyOf(&r.ObjectMeta), Created: r.CreationTimestamp.Time}
		rule.Filters = s.filters(c, r, given.Filters)
		if rule.Filters.Redirect != nil && rule.Filters.Rewrite != nil {
			c.refused = [2]string{"IncompatibleFilters", "a rule has a redirect and a rewrite"}
		}
		for i := range given.BackendRefs {
			ref := &given.BackendRefs[i]
			backend := s.backend(c, r, &ref.Reference)
			backend.Weight, backend.Filters = max(ptr.Deref(ref.Weight, defaultWeight), 0), s.filters(c, r, ref.Filters)
			rule.Backends = append(rule.Backends, backend)
		}
		c.patience(&rule, given)
		matches := given.Matches
		if len(matches) == 0 {
			matches = []Match{{}}
		}
		for i := range matches {
			own := rule
			own.Index = len(c.rules)
			c.match(&own, &matches[i])
			c.rules = append(c.rules, &own)
		}
	}
	return c
}

// defaultAttempts is the number of retries that a rule with retry makes if it states none.
const defaultAttempts = 1

// patience fills in how long a rule waits for answers, and what it tries again.
func (c *compiled) patience(rule *routes.Rule, given *RouteRule) {
	duration := func(name string, text *string) time.Duration {
		if text == nil {
			return 0
		}
		d, err := time.ParseDuration(*text)
		if err != nil || d < 0 {
			c.refuse("%s %q is no duration", name, *text)
		}
		return d
	}
	if t := given.Timeouts; t != nil {
		rule.Timeout, rule.BackendTimeout = duration("timeouts.request", t.Request), duration("timeouts.backendRequest", t.BackendRequest)
	}
	if r := given.Retry; r != nil {
		rule.Retry = &routes.Retry{Statuses: r.Codes, Attempts: max(ptr.Deref(r.Attempts, defaultAttempts), 0), Backoff: duration("retry.backoff", r.Backoff)}
	}
}

// match fills in what a rule matches.
func (c *compiled) match(rule *routes.Rule, m *Match) {
	rule.Path, rule.Type, rule.Method = "/", routes.Prefix, ptr.Deref(m.Method, "")
	if m.Path != nil {
		rule.Path = ptr.Deref(m.Path.Value, "/")
		switch t := ptr.Deref(m.Path.Type, "PathPrefix"); t {
		case "Exact":
			rule.Type = routes.Exact
		case "PathPrefix":
		default:
			c.refuse("paths of the type %s are not supported", t)
		}
	}
	rule.Headers, rule.Query = c.values(m.Headers, canonical), c.values(m.QueryParams, func(name string) string { return name })
}

// values returns what has to be equal. Of entries with one name, the first one counts.
func (c *compiled) values(given []NamedValue, nameOf func(string) string) []routes.Value {
	var list []routes.Value
	for _, v := range given {
		if t := ptr.Deref(v.Type, "Exact"); t != "Exact" {
			c.refuse("values of the type %s are not supported", t)
		}
		name := nameOf(v.Name)
		if !slices.ContainsFunc(list, func(other routes.Value) bool { return other.Name == name }) {
			list = append(list, routes.Value{Name: name, Value: v.Value})
		}
	}
	return list
}

// canonical returns the canonical form of a header's name, as net/http has it.
func canonical(name string) string {
	text, upper := []byte(strings.ToLower(name)), true
	for i, b := range text {
		if upper && b >= 'a' && b <= 'z' {
			text[i] = b - 'a' + 'A'
		}
		upper = b == '-'
	}
	return string(text)
}
