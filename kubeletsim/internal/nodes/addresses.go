package nodes

import "net/netip"

// firstNodeAddress is the address of the first node. There are nodeAddressCount of them, up to
// 172.31.255.254.
var firstNodeAddress = netip.MustParseAddr("172.18.0.2")

const nodeAddressCount = 14<<16 - 3

func addressAt(base netip.Addr, offset uint32) netip.Addr {
	n := offsetOf(base) + offset
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// offsetOf returns an IPv4 address as a number.
func offsetOf(a netip.Addr) uint32 {
	b := a.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// nodeAddresses assigns the nodes' own addresses. Like blocks, it reuses a released address
// last.
type nodeAddresses struct {
	// held counts the nodes that use each address: Nodes that clients create may state the same one.
	held map[netip.Addr]int
	next uint32
}

func (a *nodeAddresses) take() netip.Addr {
	for { // there are more addresses than nodes
		address := addressAt(firstNodeAddress, a.next)
		a.next = (a.next + 1) % nodeAddressCount
		if a.held[address] == 0 {
			a.hold(address)
			return address
		}
	}
}

func (a *nodeAddresses) hold(address netip.Addr) {
	if a.held == nil {
		a.held = map[netip.Addr]int{}
	}
	a.held[address]++
}

func (a *nodeAddresses) release(address netip.Addr) {
	if a.held[address]--; a.held[address] <= 0 {
		delete(a.held, address)
	}
}

// addressPool assigns the addresses of one range to pods. It reuses the address that was
// released first, and only when no unused one is left.
type addressPool struct {
	prefix netip.Prefix
	next   netip.Addr
	freed  []netip.Addr
	used   map[netip.Addr]bool
}

func newAddressPool(prefix netip.Prefix) *addressPool {
	return &addressPool{
		prefix: prefix,
		// The network's own address and the gateway's are never assigned.
		next: prefix.Addr().Next().Next(),
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

// reserve takes a given address, for a pod that already has it; false if it is taken or outside
// the range.
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
