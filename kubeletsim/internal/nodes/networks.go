package nodes

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// noNetwork is the state of Ready on a node without a range of pod addresses, with the words of
// upstream's kubelet.
func noNetwork() conditionText {
	return conditionText{
		"KubeletNotReady",
		"container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
		"NodeNotReady",
	}
}

// AwaitsNetwork reports whether the condition Ready of a node says that it waits for its network.
func AwaitsNetwork(ready *corev1.NodeCondition) bool {
	text := noNetwork()
	return ready.Reason == text.reason && ready.Message == text.message
}

// NetworkError returns why pods of the node get no addresses yet; empty if its network is ready.
func (n *Node) NetworkError() string {
	if !n.AwaitsRange() && n.NetworkAt().IsZero() {
		return ""
	}
	return noNetwork().message
}

// PodRange returns the first range of the node's pod addresses; it is not valid if the node waits
// for one.
func (n *Node) PodRange() netip.Prefix {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.ranges) == 0 {
		return netip.Prefix{}
	}
	return n.ranges[0]
}

// PodRanges returns the ranges of the node's pod addresses, one of each IP family.
func (n *Node) PodRanges() []netip.Prefix {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.ranges)
}

// podCIDRs returns the ranges as a Node's spec has them.
func (n *Node) podCIDRs() []string {
	var texts []string
	for _, p := range n.PodRanges() {
		texts = append(texts, p.String())
	}
	return texts
}

// AwaitsRange reports whether the node has no range of pod addresses yet.
func (n *Node) AwaitsRange() bool { return !n.PodRange().IsValid() }

// TakeRange takes the ranges of pod addresses of the node's Node, if the node awaits some and the
// Node has some. It returns whether it did.
func (n *Node) TakeRange(object *corev1.Node) bool {
	ranges := rangesOf(object)
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.ranges) > 0 || len(ranges) == 0 || n.uid != object.UID {
		return false
	}
	n.setRangesLocked(ranges)
	return true
}

func (n *Node) setRangesLocked(ranges []netip.Prefix) {
	if n.ranges = ranges; len(ranges) > 0 {
		n.addresses = newAddressPool(ranges[0])
	}
}

// rangesOf returns the ranges of pod addresses in a Node's spec that have room for a pod.
func rangesOf(object *corev1.Node) []netip.Prefix {
	var ranges []netip.Prefix
	for _, text := range object.Spec.PodCIDRs {
		if p, err := netip.ParsePrefix(text); err == nil && p.Bits() <= p.Addr().BitLen()-2 {
			ranges = append(ranges, p.Masked())
		}
	}
	return ranges
}

// secondAddress returns the pod's address in the second range, which has the same place there as
// the first has in its range. It is not valid if there is no second range, or it has no such place.
func (n *Node) secondAddress(first netip.Addr) netip.Addr {
	if len(n.ranges) < 2 || !n.ranges[0].Contains(first) {
		return netip.Addr{}
	}
	from, base, second := first.As16(), n.ranges[0].Addr().As16(), n.ranges[1].Addr().As16()
	carry := 0
	for i := len(second) - 1; i >= 0; i-- {
		sum := int(second[i]) + int(from[i]) - int(base[i]) + carry
		second[i], carry = byte(sum), sum>>8
	}
	address := netip.AddrFrom16(second)
	if n.ranges[1].Addr().Is4() {
		address = address.Unmap()
	}
	if !n.ranges[1].Contains(address) || !n.ranges[1].Contains(address.Next()) {
		return netip.Addr{}
	}
	return address
}
