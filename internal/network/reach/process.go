package reach

import (
	"net"
	"net/netip"

	"minikcm.dev/minikcm/internal/hostaddress"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/services"
)

// Machine returns the addresses of the machine that the cluster runs on, as the cluster sees them: the first of the networks that
// nodes have their addresses from.
func Machine() []netip.Addr {
	return []netip.Addr{netip.AddrFrom4([4]byte{172, 18, 0, 1}), netip.MustParseAddr("fd00:18::1")}
}

// lead connects to the process that the path's Service leads to: in the pod that it stands for, or else beside the cluster.
func (c *Cluster) lead(q *Query, from policy.Peer, address string, p *Path) {
	f := p.Frontend
	if !f.Admits(from.Address) {
		p.end(TimedOut, "the Service "+f.Key().String()+": "+services.WhyNotAdmitted(from.Address))
		return
	}
	for _, e := range c.Services.Endpoints(f) {
		pod := c.pods[e.Address.Addr()]
		if pod == nil || hostaddress.OfPort(pod, int32(e.Address.Port())) != address {
			continue
		}
		p.Endpoint, p.Target, p.Pod, p.Node = &e, e.Address, pod, pod.Spec.NodeName
		c.toPod(q, from, p)
		return
	}
	p.Target = netip.AddrPortFrom(seenAt(address, p.Target.Addr().Is6()), p.Target.Port())
	if parsed, err := netip.ParseAddrPort(address); err == nil {
		p.Target = netip.AddrPortFrom(p.Target.Addr(), parsed.Port())
	}
	if c.lost(q, from, p, policy.Peer{Address: p.Target.Addr()}) {
		return
	}
	p.Listener = &Listener{Why: "the Service " + f.Key().String() + " leads to the process at " + address, Process: address}
	p.accepted()
}

// seenAt returns the address by which policies know a process: its own, or the machine's if that is a loopback address or a name.
func seenAt(address string, is6 bool) netip.Addr {
	host, _, _ := net.SplitHostPort(address) // it has been parsed
	if own, err := netip.ParseAddr(host); err == nil && !own.IsLoopback() {
		return own.Unmap()
	}
	machine := Machine()
	if is6 {
		return machine[1]
	}
	return machine[0]
}
