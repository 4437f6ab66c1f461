package reach

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/faults"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/routes"
	"minikcm.dev/minikcm/internal/network/services"
)

// Report is a path in words, and as data.
type Report struct {
	From     string          `json:"from"`
	To       string          `json:"to"`
	Protocol corev1.Protocol `json:"protocol"`
	// Reached is whether a program accepts the connection. Error is what the source sees otherwise, and Why the reason.
	Reached bool    `json:"reached"`
	Outcome Outcome `json:"outcome"`
	Error   string  `json:"error,omitempty"`
	Why     string  `json:"why,omitempty"`
	// Service, Endpoint and Pod are on the way.
	Service  string `json:"service,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	Pod      string `json:"pod,omitempty"`
	Node     string `json:"node,omitempty"`
	// Candidates are the endpoints of which each may get the connection.
	Candidates []string  `json:"candidates,omitempty"`
	Egress     *Policies `json:"egress,omitempty"`
	Ingress    *Policies `json:"ingress,omitempty"`
	Exempt     string    `json:"exempt,omitempty"`
	Listener   *Listener `json:"listener,omitempty"`
	// Stale says that the node whose rules apply knows an earlier state of the Service.
	Stale string `json:"stale,omitempty"`
	// Faults are the faults of the network that meet the connection or the query of the name.
	Faults []string `json:"faults,omitempty"`
	// Route is the rule of a router that decides about a request, and Status the status of the router's own answer.
	Route  string     `json:"route,omitempty"`
	Status int        `json:"status,omitempty"`
	Steps  []StepText `json:"steps"`
}

// Policies are the policies that select one side.
type Policies struct {
	Allowed   bool            `json:"allowed"`
	Selecting []policy.Ref    `json:"selecting,omitempty"`
	By        *policy.Rule    `json:"by,omitempty"`
	Denials   []policy.Denial `json:"denials,omitempty"`
	// Cluster is the rule of a ClusterNetworkPolicy that decides.
	Cluster *policy.ClusterRule `json:"cluster,omitempty"`
}

// StepText is one step of the way in words.
type StepText struct {
	Step string `json:"step"`
	Text string `json:"text"`
}

// Report describes a path between two ends, which are given by name.
func (p *Path) Report(q *Query, from, to string) *Report {
	r := &Report{
		From: from, To: to, Protocol: p.Protocol, Reached: p.Outcome == Connected, Outcome: p.Outcome, Error: p.Outcome.Error(), Why: p.Why,
		Node: p.Node, Listener: p.Listener, Steps: []StepText{},
	}
	if p.Pod != nil {
		r.Pod = p.Pod.Namespace + "/" + p.Pod.Name
	}
	r.addName(p, q)
	way := p
	if p.Query != nil {
		way = p.Query
		r.step("name", fmt.Sprintf("%s: asked of the name server %s, %s", q.Host, way.Destination.Addr(), portName(way.Protocol, way.Destination.Port())))
	}
	r.addService(q, way)
	r.addEnd(way, from)
	return r
}

// addEnd adds what policies, faults and the destination do.
func (r *Report) addEnd(p *Path, from string) {
	if v := p.Verdict; v != nil {
		r.Exempt = string(v.Exempt)
		r.Egress, r.Ingress = policiesOf(&v.Egress), policiesOf(&v.Ingress)
		if v.Exempt != "" {
			r.step("policies", "none applies: "+r.Exempt)
		} else {
			r.addSide("egress", &v.Egress, from)
			r.addSide("ingress", &v.Ingress, p.targetName())
		}
	}
	r.addFaults(p)
	if l := p.Listener; l != nil {
		text := l.Why
		if l.Container != "" {
			text = "container " + l.Container + ": " + text
		}
		r.step("listener", text)
	}
}

// addForwarded adds what a router does with the request.
func (r *Report) addForwarded(d *Forwarded) {
	if d.Rule != nil {
		r.Route = d.Rule.String()
		r.step("route", r.Route)
		if d.Rule.Filters.Redirect != nil {
			r.step("redirect", "the router answers with a redirect")
		}
	}
	if b := d.Backend; b != nil && b.Invalid == "" {
		text := b.String()
		if n := len(d.Rule.Backends); n > 1 {
			text += fmt.Sprintf(", one of %d", n)
		}
		r.step("backend", text)
	}
	if p := d.Next; p != nil {
		r.Endpoint, r.Node, r.Listener = p.Target.String(), p.Node, p.Listener
		text := r.Endpoint
		if p.Pod != nil {
			r.Pod = p.Pod.Namespace + "/" + p.Pod.Name
			text += ", pod " + p.Pod.Name
		}
		if p.Target.IsValid() {
			r.step("endpoint", text)
		}
		r.addEnd(p, "the router")
		if p.Outcome == Unknown && d.Status == 0 {
			r.Reached, r.Outcome, r.Why = false, Unknown, p.Why
		}
	}
	if d.Status != 0 {
		r.Reached, r.Status, r.Error, r.Why = false, d.Status, "the router answers "+routes.StatusText(d.Status), d.Why
	}
}

func (r *Report) step(name, text string) { r.Steps = append(r.Steps, StepText{name, text}) }

func (r *Report) addName(p *Path, q *Query) {
	n := p.Resolution
	if n == nil {
		return
	}
	var found []string
	for _, a := range n.Addresses {
		found = append(found, a.String())
	}
	switch target := dns.Canonical(n.Name, n.Records); {
	case len(found) > 0 && target != n.Name:
		r.step("name", fmt.Sprintf("%s is %s, an alias for %s, %s", q.Host, n.Name, target, strings.Join(found, ", ")))
	case len(found) > 0:
		r.step("name", fmt.Sprintf("%s is %s, %s", q.Host, n.Name, strings.Join(found, ", ")))
	default:
		r.step("name", fmt.Sprintf("%s: asked for %s: %s", q.Host, strings.Join(n.Asked, ", "), n.Code))
	}
}

func (r *Report) addService(q *Query, p *Path) {
	f := p.Frontend
	if f == nil {
		if p.Destination.IsValid() {
			r.step("address", p.Destination.String())
		}
		r.addView(p)
		return
	}
	r.Service = f.Key().String()
	port := portName(p.Protocol, p.Destination.Port())
	if f.Port.Name != "" {
		port += " (" + f.Port.Name + ")"
	}
	at := p.Destination.Addr().String()
	if f.By == services.ByNodePort && p.Destination.Addr().IsLoopback() && nodeOf(&q.From) == "" {
		at = "of any node"
	}
	r.step("service", fmt.Sprintf("%s, %s, by its %s %s", r.Service, port, f.By, at))
	r.addView(p)
	if p.Choice == nil {
		return
	}
	if p.Choice.Why != "" {
		r.step("rules", p.Choice.Why)
	}
	for i := range p.Choice.Candidates {
		r.Candidates = append(r.Candidates, p.Choice.Candidates[i].Address.String())
	}
	if e := p.Endpoint; e != nil {
		r.Endpoint = e.Address.String()
		text := r.Endpoint
		if e.Pod != "" {
			text += ", pod " + e.Pod
		}
		if n := len(r.Candidates); n > 1 {
			text += fmt.Sprintf(", one of %d", n)
		}
		r.step("endpoint", text)
	}
	if p.Choice.Masquerade && p.Source.Address.IsValid() {
		r.step("source", "the endpoint sees "+p.Source.Address.String()+" of node "+p.Source.Node)
	}
}

// addView says whose view of the Services decides, if it is not the present state.
func (r *Report) addView(p *Path) {
	if r.Stale = p.Stale; r.Stale != "" {
		r.step("view", r.Stale)
	}
}

func policiesOf(s *policy.Side) *Policies {
	return &Policies{Allowed: s.Allowed(), Selecting: s.Selected, By: s.By, Denials: s.Denials, Cluster: s.Cluster}
}

func (r *Report) addSide(direction string, s *policy.Side, of string) {
	switch {
	case s.Cluster != nil && s.Allowed():
		r.step(direction, "allowed by "+s.Cluster.String())
	case s.Cluster != nil:
		r.step(direction, "not allowed by "+s.Cluster.String())
	case len(s.Selected) == 0:
		r.step(direction, "allowed: no policy selects "+of)
	case s.By != nil:
		r.step(direction, fmt.Sprintf("allowed by NetworkPolicy %s, rule %s[%d]", s.By.Policy, direction, s.By.Rule))
	default:
		for _, d := range s.Denials {
			r.step(direction, fmt.Sprintf("not allowed by NetworkPolicy %s: %s", d.Policy, d.Why))
		}
	}
}

// addFaults adds the faults that meet the connection, with what is certain of them.
func (r *Report) addFaults(p *Path) {
	for _, e := range []*faults.Effect{p.LookupEffect, p.Effect} {
		if e == nil {
			continue
		}
		for _, hit := range e.Hits {
			if !slices.Contains(r.Faults, hit.Title) {
				r.Faults = append(r.Faults, hit.Title)
				r.step("fault", hit.Title)
			}
		}
	}
	if by := p.misled; by != nil {
		r.Faults = append(r.Faults, by.Title)
		r.step("fault", by.Title)
	}
	if late := p.Late(); late > 0 {
		r.step("delay", "the connection is established at least "+late.String()+" later")
	}
}

// targetName names the destination.
func (p *Path) targetName() string {
	switch {
	case p.Pod != nil && p.Verdict != nil:
		return "pod " + p.Pod.Namespace + "/" + p.Pod.Name
	case p.APIServer:
		return apiServerName
	case p.nameServer:
		return "the name server"
	case p.Node != "":
		return "node " + p.Node
	}
	return p.Target.Addr().String()
}

// Text returns the report for people.
func (r *Report) Text() string {
	var b strings.Builder
	switch {
	case r.Reached:
		fmt.Fprintf(&b, "yes: %s reaches %s", r.From, r.To)
	case r.Outcome == Unknown:
		fmt.Fprintf(&b, "unknown: %s to %s: %s", r.From, r.To, r.Why)
	default:
		fmt.Fprintf(&b, "no: %s does not reach %s: %s: %s", r.From, r.To, r.Error, r.Why)
	}
	b.WriteByte('\n')
	for _, s := range r.Steps {
		fmt.Fprintf(&b, "  %-9s %s\n", s.Step, s.Text)
	}
	return b.String()
}
