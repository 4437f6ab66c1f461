package dns

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"minikcm.dev/minikcm/internal/network/services"
)

// Type is the type of a record.
type Type string

// The types that have records.
const (
	A     Type = "A"
	AAAA  Type = "AAAA"
	CNAME Type = "CNAME"
	SRV   Type = "SRV"
	PTR   Type = "PTR"
	TXT   Type = "TXT"
)

// Code is the code of an answer.
type Code string

// The codes. An answer with NoError may have no records: the name exists, but not with the type.
const (
	NoError  Code = "NOERROR"
	NXDomain Code = "NXDOMAIN"
	// Outside means that the name is one of the public DNS, of which nothing is known.
	Outside Code = "OUTSIDE"
	// ServFail means that the server failed; NoAnswer that none came.
	ServFail Code = "SERVFAIL"
	NoAnswer Code = "NO ANSWER"
)

// Record is a record of an answer.
type Record struct {
	// Name is absolute, without the final dot; so is Target.
	Name string
	Type Type
	// Address is for A and AAAA.
	Address netip.Addr
	// Target is for CNAME, SRV and PTR, and the text of TXT.
	Target string
	// Port, Priority and Weight are for SRV.
	Port, Priority, Weight uint16
}

// String returns the record as a line of a zone file, without its time to live.
func (r Record) String() string {
	switch r.Type {
	case A, AAAA:
		return fmt.Sprintf("%s. %s %s", r.Name, r.Type, r.Address)
	case SRV:
		return fmt.Sprintf("%s. SRV %d %d %d %s.", r.Name, r.Priority, r.Weight, r.Port, r.Target)
	case TXT:
		return fmt.Sprintf("%s. TXT %q", r.Name, r.Target)
	}
	return fmt.Sprintf("%s. %s %s.", r.Name, r.Type, r.Target)
}

// Answer is the answer to a query.
type Answer struct {
	Code    Code
	Records []Record
}

// Canonical returns the name that the aliases among the records of an answer lead to; the name itself if there are none.
func Canonical(name string, records []Record) string {
	for _, r := range records {
		if r.Type == CNAME {
			name = r.Target
		}
	}
	return name
}

// WhyOutside says that the answer for a name has the code Outside, and which alias leads there.
func WhyOutside(name string, records []Record) string {
	if target := Canonical(name, records); target != name {
		return name + " is an alias for " + target + ", a name outside of the cluster"
	}
	return name + " is a name outside of the cluster"
}

// DefaultDomain is the domain of a cluster.
const DefaultDomain = "cluster.local"

// Zone is what the server of a cluster knows.
type Zone struct {
	// Domain is the cluster's; empty: DefaultDomain.
	Domain   string
	Services *services.Table
	// HasNamespace reports whether a namespace exists.
	HasNamespace func(name string) bool
	// Published returns the addresses of a name outside of the cluster's domain that is known nevertheless; nil: none is.
	Published func(name string) []netip.Addr
	// Instead answers in place of the server if its second result is true; nil: it never does.
	Instead func(name string, t Type) (Answer, bool)
}

// DomainName returns the cluster's domain.
func (z *Zone) DomainName() string {
	if z.Domain == "" {
		return DefaultDomain
	}
	return z.Domain
}

const (
	// maxName is the length that a name may have.
	maxName = 253
	// maxAliases bounds the CNAMEs that an answer follows.
	maxAliases = 8
	// version is that of the specification.
	version = "1.1.0"
)

// Query answers a query. The name is absolute, with or without the final dot.
func (z *Zone) Query(name string, t Type) Answer {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if !valid(name) {
		return Answer{Code: NXDomain}
	}
	if z.Instead != nil {
		if answer, ok := z.Instead(name, t); ok {
			return answer
		}
	}
	return z.follow(name, t, nil)
}

// follow answers a query, and then for the name that an alias leads to. As with CoreDNS, an alias within the domain that leads to no
// record of the type, or back to a name that was asked for before, is not part of the answer.
func (z *Zone) follow(name string, t Type, before []string) Answer {
	answer := z.query(name, t)
	if t == CNAME || len(answer.Records) != 1 || answer.Records[0].Type != CNAME {
		return answer
	}
	target, asked := answer.Records[0].Target, append(before, name)
	if len(asked) > maxAliases || slices.Contains(asked, target) {
		return Answer{Code: NoError}
	}
	next := z.follow(target, t, asked)
	if len(next.Records) == 0 && next.Code != Outside && z.contains(target) {
		return Answer{Code: NoError}
	}
	return Answer{next.Code, append(answer.Records, next.Records...)}
}

// contains reports whether a name is in the cluster's domain.
func (z *Zone) contains(name string) bool { return strings.HasSuffix(name, "."+z.DomainName()) }

func valid(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
	}
	return true
}

// query answers a query without following CNAMEs.
func (z *Zone) query(name string, t Type) Answer {
	if name == z.DomainName() {
		return Answer{Code: NoError}
	}
	if rest, ok := strings.CutSuffix(name, "."+z.DomainName()); ok {
		return z.inside(name, strings.Split(rest, "."), t)
	}
	if address, ok := reverse(name); ok {
		return z.pointer(name, address, t)
	}
	if z.Published != nil {
		if addresses := z.Published(name); len(addresses) > 0 {
			return addressAnswer(name, addresses, t)
		}
	}
	if isPublic(name) {
		return Answer{Code: Outside}
	}
	return Answer{Code: NXDomain}
}

// addressAnswer returns the addresses that have the type.
func addressAnswer(name string, addresses []netip.Addr, t Type) Answer {
	answer := Answer{Code: NoError}
	for _, a := range addresses {
		if t == AAAA && a.Is6() || t == A && a.Is4() {
			answer.Records = append(answer.Records, Record{Name: name, Type: t, Address: a})
		}
	}
	return answer
}

// inside answers for a name of the cluster, whose labels before the domain are given.
func (z *Zone) inside(name string, labels []string, t Type) Answer {
	last := len(labels) - 1
	kind := labels[last]
	switch {
	case name == "dns-version."+z.DomainName():
		if t != TXT {
			return Answer{Code: NoError}
		}
		return Answer{NoError, []Record{{Name: name, Type: TXT, Target: version}}}
	case kind != "svc" && kind != "pod":
		return Answer{Code: NXDomain}
	case last == 0:
		return Answer{Code: NoError}
	case !z.HasNamespace(labels[last-1]):
		return Answer{Code: NXDomain}
	case last == 1:
		return Answer{Code: NoError}
	case kind == "pod":
		return pod(name, labels, t)
	}
	key := services.Key{Namespace: labels[last-1], Name: labels[last-2]}
	s := z.Services.Service(key)
	if s == nil {
		return Answer{Code: NXDomain}
	}
	return z.service(name, s, labels[:last-2], t)
}

// pod answers for the name of an address, such as 10-244-0-5.default.pod. As with CoreDNS's setting "pods insecure", any
// address has one.
func pod(name string, labels []string, t Type) Answer {
	if len(labels) != 3 {
		return Answer{Code: NXDomain}
	}
	address, err := netip.ParseAddr(strings.ReplaceAll(labels[0], "-", "."))
	if err != nil {
		address, err = netip.ParseAddr(strings.ReplaceAll(labels[0], "-", ":"))
	}
	if err != nil {
		return Answer{Code: NXDomain}
	}
	return Answer{NoError, addresses(name, []netip.Addr{address}, t)}
}

// addresses returns the records of the addresses that are of a type's family.
func addresses(name string, of []netip.Addr, t Type) []Record {
	var records []Record
	for _, address := range of {
		if t == A && address.Is4() || t == AAAA && address.Is6() {
			records = append(records, Record{Name: name, Type: t, Address: address})
		}
	}
	return records
}

// service answers for a name of a Service. before are the labels before the Service's name.
func (z *Zone) service(name string, s *corev1.Service, before []string, t Type) Answer {
	ips := services.ClusterIPs(s)
	switch {
	case s.Spec.Type == corev1.ServiceTypeExternalName:
		if len(before) > 0 {
			return Answer{Code: NXDomain}
		}
		return Answer{NoError, []Record{{Name: name, Type: CNAME, Target: strings.ToLower(strings.TrimSuffix(s.Spec.ExternalName, "."))}}}
	case len(before) == 2 && strings.HasPrefix(before[0], "_") && strings.HasPrefix(before[1], "_"):
		return z.ports(name, s, before[0][1:], before[1][1:], t)
	case len(before) > 1:
		return Answer{Code: NXDomain}
	case len(before) == 1:
		return hostRecords(name, z.hosts(s), before[0], t)
	case t == SRV:
		answer := z.ports(name, s, "", "", t)
		answer.Code = NoError
		return answer
	}
	var all []netip.Addr
	for _, ip := range ips {
		if address, err := netip.ParseAddr(ip); err == nil {
			all = append(all, address)
		}
	}
	if len(ips) == 0 {
		hosts := z.hosts(s)
		if len(hosts) == 0 { // as CoreDNS: a headless Service that has no endpoints is not there
			return Answer{Code: NXDomain}
		}
		for _, h := range hosts {
			all = append(all, h.address)
		}
	}
	return Answer{NoError, addresses(name, all, t)}
}

// host is a ready endpoint of a Service.
type host struct {
	name    string
	address netip.Addr
	ports   []discoveryv1.EndpointPort
}

// hosts returns the ready endpoints of a Service, sorted by address.
func (z *Zone) hosts(s *corev1.Service) []host {
	var list []host
	for _, slice := range z.Services.Slices(services.Key{Namespace: s.Namespace, Name: s.Name}) {
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			if e.Conditions.Ready != nil && !*e.Conditions.Ready {
				continue
			}
			for _, text := range e.Addresses {
				if address, err := netip.ParseAddr(text); err == nil {
					list = append(list, host{hostName(e, address), address, slice.Ports})
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b host) int { return a.address.Compare(b.address) })
	return slices.CompactFunc(list, func(a, b host) bool { return a.address == b.address })
}

// hostName is the label of an endpoint beneath its Service: the hostname of its pod, or its address.
func hostName(e *discoveryv1.Endpoint, address netip.Addr) string {
	if e.Hostname != nil && *e.Hostname != "" {
		return *e.Hostname
	}
	return strings.NewReplacer(".", "-", ":", "-").Replace(address.String())
}

func hostRecords(name string, hosts []host, label string, t Type) Answer {
	var of []netip.Addr
	for _, h := range hosts {
		if h.name == label {
			of = append(of, h.address)
		}
	}
	if len(of) == 0 {
		return Answer{Code: NXDomain}
	}
	return Answer{NoError, addresses(name, of, t)}
}

// ports answers for the ports of a Service with a name and a protocol; empty: for all.
func (z *Zone) ports(name string, s *corev1.Service, port, protocol string, t Type) Answer {
	own := s.Name + "." + s.Namespace + ".svc." + z.DomainName()
	matches := func(n string, p corev1.Protocol) bool {
		return (port == "" || n == port) && (protocol == "" || strings.EqualFold(string(p), protocol))
	}
	var records []Record
	add := func(target string, number int32) {
		records = append(records, Record{Name: name, Type: SRV, Target: target, Port: uint16(number)})
	}
	if len(services.ClusterIPs(s)) > 0 {
		for _, p := range s.Spec.Ports {
			if matches(p.Name, orTCP(p.Protocol)) {
				add(own, p.Port)
			}
		}
	} else {
		for _, h := range z.hosts(s) {
			for _, p := range h.ports {
				if p.Port != nil && matches(orEmpty(p.Name), orTCP(orEmpty(p.Protocol))) {
					add(h.name+"."+own, *p.Port)
				}
			}
		}
	}
	if len(records) == 0 {
		return Answer{Code: NXDomain}
	}
	if t != SRV {
		return Answer{Code: NoError}
	}
	for i := range records {
		records[i].Weight = uint16(max(1, 100/len(records)))
	}
	return Answer{NoError, records}
}

func orTCP(p corev1.Protocol) corev1.Protocol {
	if p == "" {
		return corev1.ProtocolTCP
	}
	return p
}

func orEmpty[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}
