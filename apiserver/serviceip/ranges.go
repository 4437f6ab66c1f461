package serviceip

import (
	"encoding/binary"
	"net/netip"
)

// PortRange is a range of ports, both ends included.
type PortRange struct{ First, Last int32 }

func (r PortRange) contains(port int32) bool { return port >= r.First && port <= r.Last }

func (r PortRange) size() int { return int(r.Last-r.First) + 1 }

func (r PortRange) at(i int) int32 { return r.First + int32(i) } //nolint:gosec // i is less than size

// addresses are the usable addresses of an IPv4 network: all but its own and the
// broadcast address.
type addresses struct{ prefix netip.Prefix }

func (a addresses) size() int { return 1<<(32-a.prefix.Bits()) - 2 }

func (a addresses) at(i int) netip.Addr {
	base := a.prefix.Masked().Addr().As4()
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(base[:])+uint32(i)+1) //nolint:gosec // i is less than size
	return netip.AddrFrom4(b)
}

func (a addresses) contains(ip netip.Addr) bool {
	return a.prefix.Contains(ip) && ip != a.prefix.Masked().Addr() && ip != a.at(a.size())
}

// Values at the beginning of a range are left to those who ask for a certain one,
// as long as there are others (KEP-3070 for addresses, KEP-3668 for ports).

// staticAddresses is how many addresses of a range of this size are such.
func staticAddresses(size int) int { return clamp(size, size/16, 256) }

// staticPorts is how many ports of a range of this size are such.
func staticPorts(size int) int { return clamp(size, size/32, 128) }

func clamp(size, wanted, most int) int {
	const least = 16
	if size < least {
		return 0
	}
	return min(max(wanted, least), most)
}

// pick returns an index below size that is usable: a random one of those past the
// static ones, or one of these when all others are taken.
func pick(size, static int, random func(n int) int, usable func(i int) bool) (int, bool) {
	if i, ok := probe(static, size, random, usable); ok {
		return i, true
	}
	return probe(0, static, random, usable)
}

// probe looks at all of [from, to), beginning anywhere.
func probe(from, to int, random func(n int) int, usable func(i int) bool) (int, bool) {
	n := to - from
	if n <= 0 {
		return 0, false
	}
	start := random(n)
	for k := range n {
		if i := from + (start+k)%n; usable(i) {
			return i, true
		}
	}
	return 0, false
}
