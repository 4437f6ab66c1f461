package kubeletsim

import (
	"fmt"
	"math/bits"
	"net/netip"
)

// The ranges that addresses come from. Pods of node i get the i-th block of
// podRange, counted from its first: 10.244.0.0/24, 10.244.1.0/24 ... as a cluster
// made by kubeadm for flannel has them; blocks go on past 10.244 when there are
// more than 256 nodes.
var (
	firstPodAddress  = netip.MustParseAddr("10.244.0.0")
	pastPodAddress   = netip.MustParseAddr("11.0.0.0")
	firstNodeAddress = netip.MustParseAddr("172.18.0.2")
)

// nodeAddress is the address of the i-th node.
func nodeAddress(i int) netip.Addr { return addressAt(firstNodeAddress, uint32(i)) }

func addressAt(base netip.Addr, offset uint32) netip.Addr {
	b := base.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	n += offset
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// blocks deals out pod ranges.
type blocks struct{ next netip.Addr }

// take returns the next range that holds the given number of pods beside its
// network, gateway and broadcast address; it is never smaller than a /24.
func (b *blocks) take(pods int64) (netip.Prefix, error) {
	if !b.next.IsValid() {
		b.next = firstPodAddress
	}
	size := max(bits.Len64(uint64(max(pods, 0)+2)), 8)
	if size > 16 {
		return netip.Prefix{}, fmt.Errorf("no address range holds %d pods on one node", pods)
	}
	// A larger block must begin at a multiple of its size.
	start := b.next
	if masked := netip.PrefixFrom(start, 32-size).Masked().Addr(); masked != start {
		start = addressAt(masked, 1<<size)
	}
	if !start.Less(pastPodAddress) {
		return netip.Prefix{}, fmt.Errorf("all pod addresses from %s on are taken", firstPodAddress)
	}
	b.next = addressAt(start, 1<<size)
	return netip.PrefixFrom(start, 32-size), nil
}

// skip lets no block be dealt that overlaps with one that is in use already.
func (b *blocks) skip(used netip.Prefix) {
	if a := used.Addr(); !a.Is4() || a.Less(firstPodAddress) || !a.Less(pastPodAddress) {
		return
	}
	past := addressAt(used.Masked().Addr(), 1<<(32-used.Bits()))
	if !b.next.IsValid() || b.next.Less(past) {
		b.next = past
	}
}

// addressPool gives out the addresses of one range, each to one pod at a time, and
// those given back longest ago first, so that an address is not soon reused.
type addressPool struct {
	prefix netip.Prefix
	next   netip.Addr
	freed  []netip.Addr
	used   map[netip.Addr]bool
}

func newAddressPool(prefix netip.Prefix) *addressPool {
	return &addressPool{
		prefix: prefix,
		// The network's own address and the gateway's are never given out.
		next: addressAt(prefix.Addr(), 2),
		used: map[netip.Addr]bool{},
	}
}

// take returns a free address; the zero Addr when there is none.
func (p *addressPool) take() netip.Addr {
	for p.prefix.Contains(p.next) && p.prefix.Contains(p.next.Next()) {
		address := p.next
		p.next = address.Next()
		if !p.used[address] {
			p.used[address] = true
			return address
		}
	}
	for len(p.freed) > 0 {
		address := p.freed[0]
		p.freed = p.freed[1:]
		if !p.used[address] {
			p.used[address] = true
			return address
		}
	}
	return netip.Addr{}
}

// reserve takes a certain address, as a pod that was there before had it.
func (p *addressPool) reserve(address netip.Addr) bool {
	if !p.prefix.Contains(address) || p.used[address] {
		return false
	}
	p.used[address] = true
	return true
}

func (p *addressPool) release(address netip.Addr) {
	if p.used[address] {
		delete(p.used, address)
		p.freed = append(p.freed, address)
	}
}
