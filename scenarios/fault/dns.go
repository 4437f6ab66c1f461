package fault

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/faults"
)

// The actions of the name server.
const (
	DNSServFail = "servfail"
	DNSNXDomain = "nxdomain"
	DNSTimeout  = "timeout"
	DNSWrong    = "wrong"
)

// dnsActions lists the actions on queries of names.
var dnsActions = []Action{
	{Name: DNSServFail, Does: "let the name server answer that it failed", Lasts: LastingAlways},
	{Name: DNSNXDomain, Does: "let the name server answer that a name does not exist", Lasts: LastingAlways},
	{Name: DNSTimeout, Does: "let queries get no answer", Lasts: LastingAlways},
	{Name: DNSWrong, Does: "let the name server answer a wrong address", Lasts: LastingAlways, Fields: []string{"address"}},
}

// DNS is a fault of the cluster's name server.
type DNS struct {
	// Action is servfail, nxdomain, timeout or wrong.
	Action string `yaml:"action,omitempty"`
	// Hosts are patterns of names, such as db, db.shop, db.shop.svc.cluster.local or *.example.com, absolute or as programs write them
	// whose search list completes them, in which * stands for any text and ? for a character; default all names.
	Hosts []string `yaml:"hosts,omitempty"`
	// From are the sources of the queries, written as in a fault of the network; default all.
	From []string `yaml:"from,omitempty"`
	// Namespace is the namespace of objects in From; default default.
	Namespace string `yaml:"namespace,omitempty"`
	// Percent is the percentage of the names and times that are met; default 100.
	Percent int `yaml:"percent,omitempty"`
	// Address is the wrong address; default: a random one of 198.18.0.0/15, which nothing has.
	Address string `yaml:"address,omitempty"`

	// PodsFrom chooses pods when the fault is injected, in place of From.
	PodsFrom *Pods `yaml:"-"`
}

func (d *DNS) between() *Between {
	return &Between{From: d.From, Namespace: d.Namespace, Percent: d.Percent, PodsFrom: d.PodsFrom}
}

func (d *DNS) check(c *checker) {
	c.row(d, d.Action)
	between := d.between()
	between.check(c)
	d.Namespace = between.Namespace
	if d.Address != "" {
		if _, err := netip.ParseAddr(d.Address); err != nil {
			c.problem("address", "%q is not an IP address", d.Address)
		}
	}
	if slices.Contains(d.Hosts, "") {
		c.problem("hosts", "has an empty pattern")
	}
}

func (d *DNS) title() string {
	names := "all names"
	if len(d.Hosts) > 0 {
		names = strings.Join(d.Hosts, ", ")
	}
	text := map[string]string{
		DNSServFail: "answer SERVFAIL for " + names, DNSNXDomain: "answer NXDOMAIN for " + names, DNSTimeout: "do not answer for " + names,
		DNSWrong: "answer " + cmp.Or(d.Address, "a random address") + " for " + names,
	}[d.Action]
	if len(d.From) > 0 || d.PodsFrom != nil {
		text += " to queries " + d.between().title()
	}
	return text + shareOf(d.Percent)
}

func (d *DNS) action() (Action, bool) { return find(dnsActions, d.Action) }
func (d *DNS) needs() Needs           { return Needs{} }

func (d *DNS) inject(ctx context.Context, env *Env) (injected, error) {
	what := &faults.DNS{Names: d.Hosts}
	switch d.Action {
	case DNSServFail:
		what.Code = dns.ServFail
	case DNSNXDomain:
		what.Code = dns.NXDomain
	case DNSTimeout:
		what.Code = dns.NoAnswer
	case DNSWrong:
		what.Code = dns.NoError
		if d.Address != "" {
			address, err := netip.ParseAddr(d.Address)
			if err != nil {
				return nil, fmt.Errorf("reading the address: %w", err)
			}
			what.Address = address.Unmap()
		}
	}
	r := &faults.Rule{Title: d.title(), Direction: faults.Both, Percent: cmp.Or(d.Percent, 100), DNS: what}
	if err := d.between().rule(ctx, env, r); err != nil {
		return nil, err
	}
	return disturb(env, r), nil
}
