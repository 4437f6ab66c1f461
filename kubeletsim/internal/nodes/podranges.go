package nodes

import (
	"fmt"
	"math/bits"
	"net/netip"
)

// firstPodAddress begins the addresses for pods, 10.192.0.0/10. Nodes get 10.244.0.0/24,
// 10.244.1.0/24 and so on up to 10.255.255.0/24, as in a kubeadm cluster with flannel, and then
// 10.192.0.0/24 up to 10.243.255.0/24.
var firstPodAddress = netip.MustParseAddr("10.192.0.0")

const (
	// MaxNodes is the maximum number of simulated nodes. Each holds a /24 of pod addresses, or
	// more if its capacity is above 253 pods.
	MaxNodes = 64 << 8
	// firstUnit is the index of 10.244.0.0/24.
	firstUnit = 52 << 8
	// unitBits is the size of a unit, the smallest range that a node gets.
	unitBits = 8
	// maxRangeBits bounds the range of one node.
	maxRangeBits = 16
)

// ErrTooManyNodes means that no pod addresses are left for another node.
var ErrTooManyNodes = fmt.Errorf("at most %d nodes can be simulated: each has 256 or more of the pod addresses 10.192.0.0 to 10.255.255.255", MaxNodes)

// blocks assigns pod ranges. It reuses a released range last, because pods of the node that had
// it may outlive the node.
type blocks struct {
	// held counts the nodes to which addresses of each unit are allocated.
	held [MaxNodes]uint16
	// next is the unit at which the search for the next range begins, counted from firstUnit.
	next int
}

// rangeBits returns the size of a range for the given number of pods.
func rangeBits(pods int64) int { return max(bits.Len64(uint64(max(pods, 0)+2)), unitBits) }

// take returns the next free range that holds the given number of pods beside its
// network, gateway and broadcast address; it is never smaller than a /24.
func (b *blocks) take(pods int64) (netip.Prefix, error) {
	size := rangeBits(pods)
	if size > maxRangeBits {
		return netip.Prefix{}, fmt.Errorf("no address range holds %d pods on one node; the largest holds %d", pods, 1<<maxRangeBits-3)
	}
	units := 1 << (size - unitBits)
	first := (b.next + units - 1) / units // a larger range begins at a multiple of its size
	for i := range MaxNodes / units {
		unit := (firstUnit + (first+i)*units) % MaxNodes
		if b.free(unit, units) {
			taken := netip.PrefixFrom(addressAt(firstPodAddress, uint32(unit)<<unitBits), 32-size)
			b.hold(taken)
			return taken, nil
		}
	}
	return netip.Prefix{}, ErrTooManyNodes
}

func (b *blocks) free(unit, units int) bool {
	for _, held := range b.held[unit : unit+units] {
		if held > 0 {
			return false
		}
	}
	return true
}

// hold excludes ranges that overlap the given one, and continues the search after it.
func (b *blocks) hold(used netip.Prefix) {
	first, past := unitsOf(used)
	for unit := first; unit < past; unit++ {
		b.held[unit]++
	}
	if after := (past + MaxNodes - firstUnit) % MaxNodes; past > first && b.next < after {
		b.next = after
	}
}

// release undoes hold.
func (b *blocks) release(used netip.Prefix) {
	for unit, past := unitsOf(used); unit < past; unit++ {
		b.held[unit]--
	}
}

// unitsOf returns the units that overlap a range: from first up to but excluding past; none if
// it is elsewhere.
func unitsOf(p netip.Prefix) (first, past int) {
	if !p.Addr().Is4() {
		return 0, 0
	}
	start := int64(offsetOf(p.Masked().Addr())) - int64(offsetOf(firstPodAddress))
	end := start + 1<<(32-p.Bits()) - 1
	if end < 0 || start >= MaxNodes<<unitBits {
		return 0, 0
	}
	return int(max(start, 0) >> unitBits), int(min(end, MaxNodes<<unitBits-1)>>unitBits) + 1
}
