package dns

import (
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/services"
)

// isPublic reports whether the last label of a name is a domain of the public DNS. A name of one label is none that
// anything resolves.
func isPublic(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return false
	}
	suffix, managed := publicsuffix.PublicSuffix("x." + name[dot+1:])
	return managed && suffix == name[dot+1:]
}

// ReverseName returns the name of an address beneath in-addr.arpa or ip6.arpa.
func ReverseName(address netip.Addr) string {
	address = address.Unmap()
	var labels []string
	if address.Is4() {
		labels = strings.Split(address.String(), ".")
	} else {
		labels = strings.Split(strings.ReplaceAll(address.StringExpanded(), ":", ""), "")
	}
	slices.Reverse(labels)
	if address.Is4() {
		return strings.Join(labels, ".") + ".in-addr.arpa"
	}
	return strings.Join(labels, ".") + ".ip6.arpa"
}

// reverse returns the address that a name beneath in-addr.arpa or ip6.arpa stands for.
func reverse(name string) (address netip.Addr, ok bool) {
	separator := "."
	text, ok := strings.CutSuffix(name, ".in-addr.arpa")
	if !ok {
		if text, ok = strings.CutSuffix(name, ".ip6.arpa"); !ok {
			return netip.Addr{}, false
		}
		separator = ""
	}
	labels := strings.Split(text, ".")
	slices.Reverse(labels)
	text = strings.Join(labels, separator)
	if separator == "" {
		if len(labels) != 32 || len(text) != 32 {
			return netip.Addr{}, false
		}
		var groups []string
		for i := 0; i < len(text); i += 4 {
			groups = append(groups, text[i:i+4])
		}
		text = strings.Join(groups, ":")
	}
	address, err := netip.ParseAddr(text)
	return address, err == nil
}

// pointer answers for the name of an address.
func (z *Zone) pointer(name string, address netip.Addr, t Type) Answer {
	var targets []string
	if owner, ok := z.Services.Owner(address); ok {
		if s := z.Services.Service(owner); slices.Contains(services.ClusterIPs(s), address.String()) {
			targets = append(targets, z.nameOf(s))
		}
	}
	if len(targets) == 0 {
		for _, key := range z.Services.WithEndpoint(address) {
			s := z.Services.Service(key)
			if s == nil || len(services.ClusterIPs(s)) > 0 {
				continue
			}
			for _, h := range z.hosts(s) {
				if h.address == address {
					targets = append(targets, h.name+"."+z.nameOf(s))
				}
			}
		}
	}
	switch {
	case len(targets) == 0:
		return Answer{Code: NXDomain}
	case t != PTR:
		return Answer{Code: NoError}
	}
	var records []Record
	for _, target := range targets {
		records = append(records, Record{Name: name, Type: PTR, Target: target})
	}
	return Answer{NoError, records}
}

func (z *Zone) nameOf(s *corev1.Service) string {
	return s.Name + "." + s.Namespace + ".svc." + z.DomainName()
}
