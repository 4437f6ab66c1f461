package decide

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// pool is one of the cluster's ranges, divided into networks of one size. Its memory follows
// from the networks that are allocated, not from the size of the range.
type pool struct {
	cluster netip.Prefix
	bits    int
	// size is the number of networks, and next the index at which the search for the next one
	// begins.
	size, next uint64
	// held counts the Nodes to which each network is allocated, by its index; wide counts the owners of prefixes
	// that span several networks, such as the Service range.
	held map[uint64]int
	wide map[netip.Prefix]int
}

func newPool(c Cluster) (*pool, error) {
	cluster := c.Range.Masked()
	difference := c.NodeBits - cluster.Bits()
	switch {
	case difference < 0:
		return nil, fmt.Errorf("the range %s is smaller than a node's network, a /%d", cluster, c.NodeBits)
	case c.NodeBits > cluster.Addr().BitLen():
		return nil, fmt.Errorf("a node's network of the range %s cannot be a /%d", cluster, c.NodeBits)
	case cluster.Addr().Is6() && difference > maxIPv6Bits:
		return nil, fmt.Errorf("the range %s has more than %d networks of the size /%d", cluster, 1<<maxIPv6Bits, c.NodeBits)
	}
	return &pool{
		cluster: cluster, bits: c.NodeBits, size: 1 << difference,
		held: map[uint64]int{}, wide: map[netip.Prefix]int{},
	}, nil
}

// take returns the next free network. It does not count it as allocated.
func (p *pool) take() (netip.Prefix, bool) {
	if uint64(len(p.held)) >= p.size {
		return netip.Prefix{}, false
	}
	for passed := uint64(0); passed < p.size; {
		index := (p.next + passed) % p.size
		network := p.at(index)
		if p.held[index] > 0 {
			passed++
			continue
		}
		if around, ok := p.around(network); ok {
			if around.Bits() <= p.cluster.Bits() {
				break
			}
			spans := uint64(1) << (p.bits - around.Bits())
			passed += spans - index%spans
			continue
		}
		p.next = (index + 1) % p.size
		return network, true
	}
	return netip.Prefix{}, false
}

// around returns a wide prefix that contains the network.
func (p *pool) around(network netip.Prefix) (netip.Prefix, bool) {
	for wide := range p.wide {
		if wide.Overlaps(network) {
			return wide, true
		}
	}
	return netip.Prefix{}, false
}

// count adds to the number of holders of a prefix.
func (p *pool) count(prefix netip.Prefix, by int) {
	if !prefix.Overlaps(p.cluster) {
		return
	}
	if prefix.Bits() < p.bits {
		add(p.wide, prefix, by)
		return
	}
	add(p.held, p.index(prefix.Addr()), by)
}

func add[K comparable](counts map[K]int, key K, by int) {
	if counts[key] += by; counts[key] <= 0 {
		delete(counts, key)
	}
}

// at returns the network with an index.
func (p *pool) at(index uint64) netip.Prefix {
	high, low := halves(p.cluster.Addr())
	shift := 128 - p.paddedBits()
	if shift >= 64 {
		high += index << (shift - 64)
	} else {
		high += index >> (64 - shift)
		low += index << shift
	}
	var bytes [16]byte
	binary.BigEndian.PutUint64(bytes[:8], high)
	binary.BigEndian.PutUint64(bytes[8:], low)
	address := netip.AddrFrom16(bytes)
	if p.cluster.Addr().Is4() {
		address = address.Unmap()
	}
	return netip.PrefixFrom(address, p.bits)
}

// index returns the index of the network with an address of the range.
func (p *pool) index(address netip.Addr) uint64 {
	high, low := halves(address)
	baseHigh, baseLow := halves(p.cluster.Addr())
	high -= baseHigh
	shift := 128 - p.paddedBits()
	if shift >= 64 {
		return high >> (shift - 64)
	}
	// The base has no bits within a network, so no borrow reaches the upper half.
	return high<<(64-shift) | (low-baseLow)>>shift
}

// paddedBits is the length of a network's prefix in an IPv6 address, which IPv4 addresses are
// mapped to.
func (p *pool) paddedBits() int {
	return p.bits + 128 - p.cluster.Addr().BitLen()
}

// halves returns the two halves of an address as 16 bytes.
func halves(a netip.Addr) (high, low uint64) {
	bytes := a.As16()
	return binary.BigEndian.Uint64(bytes[:8]), binary.BigEndian.Uint64(bytes[8:])
}
