package serviceip

import (
	"encoding/binary"
	"math"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

// network is a range of addresses: for IPv4 without the network and the broadcast
// address, for IPv6 without the first.
type network struct {
	prefix      netip.Prefix
	first, last netip.Addr
	// size is the number of addresses; beyond 2^64 the rest is only allocated on
	// request.
	size uint64
}

func newNetwork(prefix netip.Prefix) network {
	prefix = prefix.Masked()
	n := network{prefix: prefix, first: prefix.Addr().Next(), size: math.MaxUint64}
	host := prefix.Addr().BitLen() - prefix.Bits()
	if host < 64 {
		n.size = 1<<host - 1
	}
	if prefix.Addr().Is4() && n.size > 0 {
		n.size--
	}
	n.last = lastOf(prefix)
	if prefix.Addr().Is4() {
		n.last = n.last.Prev()
	}
	return n
}

// lastOf returns the last address of a network.
func lastOf(prefix netip.Prefix) netip.Addr {
	bytes := prefix.Addr().AsSlice()
	for bit := prefix.Bits(); bit < 8*len(bytes); bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

func (n network) contains(ip netip.Addr) bool {
	return n.prefix.Contains(ip) && n.first.Compare(ip) <= 0 && ip.Compare(n.last) <= 0
}

// at returns the address at an index below size.
func (n network) at(i uint64) netip.Addr {
	b := n.first.As16()
	low := binary.BigEndian.Uint64(b[8:])
	sum := low + i
	binary.BigEndian.PutUint64(b[8:], sum)
	if sum < low {
		binary.BigEndian.PutUint64(b[:8], binary.BigEndian.Uint64(b[:8])+1)
	}
	ip := netip.AddrFrom16(b)
	if n.first.Is4() {
		return ip.Unmap()
	}
	return ip
}

// static returns the size of the part at the beginning that is reserved for requested
// addresses while the rest has free ones (KEP-3070).
func (n network) static() uint64 {
	const least, most = 16, 256
	if n.size < least {
		return 0
	}
	return min(max(n.size/16, least), most)
}

func familyOf(ip netip.Addr) corev1.IPFamily {
	if ip.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

func otherFamily(family corev1.IPFamily) corev1.IPFamily {
	if family == corev1.IPv4Protocol {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}

// ServiceIP returns the address of the Service "kubernetes" in a network: the first.
func ServiceIP(prefix netip.Prefix) netip.Addr { return newNetwork(prefix).first }
