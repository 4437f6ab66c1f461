package decide

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Cluster is a range of pod addresses, and the length of the prefix of each node's network in it.
type Cluster struct {
	Range    netip.Prefix
	NodeBits int
}

// maxIPv6Bits bounds the difference between the lengths of the prefixes of an IPv6 range and of
// its networks, as upstream.
const maxIPv6Bits = 16

// Networks are the pod networks of the nodes of a cluster. It is not safe for concurrent use.
type Networks struct {
	pools   []*pool
	holders map[string]holding
}

// holding is the allocation of one Node.
type holding struct {
	uid      types.UID
	networks []netip.Prefix
	// stated means that the Node has the networks in its spec, which cannot change any more.
	stated bool
}

// New returns the networks of a cluster without nodes. Networks that overlap a reserved range,
// such as the Service range, are never handed out.
func New(clusters []Cluster, reserved ...netip.Prefix) (*Networks, error) {
	n := &Networks{holders: map[string]holding{}}
	for _, c := range clusters {
		p, err := newPool(c)
		if err != nil {
			return nil, err
		}
		n.pools = append(n.pools, p)
	}
	for _, r := range reserved {
		n.reserve([]netip.Prefix{r.Masked()})
	}
	return n, nil
}

// Holder returns the UID of the Node of that name that holds networks; false if none does.
func (n *Networks) Holder(name string) (types.UID, bool) {
	h, ok := n.holders[name]
	return h.uid, ok
}

// Reserve records the networks that a Node has in its spec, in place of the networks allocated under its
// name. A network that overlaps none of the cluster's ranges has no effect.
func (n *Networks) Reserve(name string, uid types.UID, podCIDRs []string) error {
	if h := n.holders[name]; h.stated && h.uid == uid {
		return nil
	}
	var stated []netip.Prefix
	for _, text := range podCIDRs {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("the pod network %q of node %s: %w", text, name, err)
		}
		stated = append(stated, p.Masked())
	}
	n.Free(name)
	n.reserve(stated)
	n.holders[name] = holding{uid: uid, networks: stated, stated: true}
	return nil
}

// Take returns networks for a Node, one of each of the cluster's ranges: the networks that it took
// before, otherwise free ones. It returns false, and takes nothing, if a range has none left, and
// nil, true if the Node is known to have networks in its spec.
func (n *Networks) Take(name string, uid types.UID) ([]netip.Prefix, bool) {
	switch h, ok := n.holders[name]; {
	case ok && h.uid == uid && h.stated:
		return nil, true
	case ok && h.uid == uid:
		return slices.Clone(h.networks), true
	case ok:
		n.Free(name)
	}
	var taken []netip.Prefix
	for _, p := range n.pools {
		network, ok := p.take()
		if !ok {
			n.release(taken)
			return nil, false
		}
		n.reserve([]netip.Prefix{network})
		taken = append(taken, network)
	}
	n.holders[name] = holding{uid: uid, networks: taken}
	return slices.Clone(taken), true
}

// Free releases the networks allocated under a name; false if there are none.
func (n *Networks) Free(name string) bool {
	h, ok := n.holders[name]
	if ok {
		n.release(h.networks)
		delete(n.holders, name)
	}
	return ok
}

func (n *Networks) reserve(networks []netip.Prefix) {
	for _, network := range networks {
		for _, p := range n.pools {
			p.count(network, 1)
		}
	}
}

func (n *Networks) release(networks []netip.Prefix) {
	for _, network := range networks {
		for _, p := range n.pools {
			p.count(network, -1)
		}
	}
}
