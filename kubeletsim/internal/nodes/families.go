package nodes

import (
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Families are the IP families of a cluster's nodes and pods, the first one first. Empty: IPv4.
type Families []corev1.IPFamily

// FamiliesOf returns the families of ranges of addresses, in their order.
func FamiliesOf(ranges []string) Families {
	var families Families
	for _, text := range ranges {
		family := corev1.IPv4Protocol
		if p, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil && !p.Addr().Is4() {
			family = corev1.IPv6Protocol
		}
		families = append(families, family)
	}
	return families
}

// The table assigns IPv4 addresses only. Those of IPv6 follow from them, so that they are as unique: the
// range fd00:10:af4:100::/64 from 10.244.1.0/24, and the node's address fd00:18::ac12:2 from 172.18.0.2.
var (
	podBase  = netip.MustParsePrefix("fd00:10::/32")
	nodeBase = netip.MustParsePrefix("fd00:18::/96")
)

// podRangeBits is the length of the prefix of a node's IPv6 range.
const podRangeBits = 64

// ranges returns the node's ranges of pod addresses that follow from its IPv4 range.
func (f Families) ranges(block netip.Prefix) []netip.Prefix {
	if len(f) == 0 || !block.IsValid() || !block.Addr().Is4() {
		return []netip.Prefix{block}
	}
	var all []netip.Prefix
	for _, family := range f {
		if family == corev1.IPv6Protocol {
			all = append(all, netip.PrefixFrom(embed(podBase, 4, block.Addr()), podRangeBits))
			continue
		}
		all = append(all, block)
	}
	return all
}

// addresses returns the node's own addresses that follow from its IPv4 address.
func (f Families) addresses(address string) []string {
	own, err := netip.ParseAddr(address)
	if len(f) == 0 || err != nil || !own.Is4() {
		return []string{address}
	}
	var all []string
	for _, family := range f {
		if family == corev1.IPv6Protocol {
			all = append(all, embed(nodeBase, 12, own).String())
			continue
		}
		all = append(all, address)
	}
	return all
}

// embed returns the IPv6 address with an IPv4 address at the given byte of base.
func embed(base netip.Prefix, at int, address netip.Addr) netip.Addr {
	bytes, four := base.Addr().As16(), address.As4()
	copy(bytes[at:], four[:])
	return netip.AddrFrom16(bytes)
}

// embedded returns the IPv4 address in an address that embed returned for base; otherwise the address
// itself.
func embedded(base netip.Prefix, at int, address netip.Addr) netip.Addr {
	if !base.Contains(address) {
		return address
	}
	bytes := address.As16()
	return netip.AddrFrom4([4]byte(bytes[at : at+4]))
}

// blockOf returns the IPv4 range from which a node's IPv6 range follows, for the given number of pods.
func blockOf(p netip.Prefix, pods int64) (netip.Prefix, bool) {
	base := embedded(podBase, 4, p.Addr())
	if !base.Is4() || p.Bits() != podRangeBits {
		return netip.Prefix{}, false
	}
	block := netip.PrefixFrom(base, 32-rangeBits(pods))
	return block, block.Masked() == block && embed(podBase, 4, base) == p.Addr()
}

// HostIPs returns the addresses of the node that its pods report: its first InternalIP, and the first of
// the other family.
func (n *Node) HostIPs() []string { return n.hostIPs }

// Elsewhere returns a node that another process simulates, as its object shows it.
func Elsewhere(node *corev1.Node) *Node {
	return &Node{Name: node.Name, Allocatable: node.Status.Allocatable, hostIPs: hostIPsOf(node.Status.Addresses)}
}

func hostIPsOf(addresses []corev1.NodeAddress) []string {
	var ips []string
	var first netip.Addr
	for _, a := range addresses {
		ip, err := netip.ParseAddr(a.Address)
		if a.Type != corev1.NodeInternalIP || err != nil {
			continue
		}
		switch {
		case len(ips) == 0:
			first, ips = ip, append(ips, a.Address)
		case len(ips) == 1 && ip.Is4() != first.Is4():
			ips = append(ips, a.Address)
		}
	}
	return ips
}
