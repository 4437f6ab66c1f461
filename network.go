package minikcm

import (
	"fmt"
	"net/netip"

	"minikcm.dev/minikcm/apiserver"
)

// network holds the addresses in the options, parsed and checked.
type network struct {
	advertise netip.Addr
	ranges    []netip.Prefix
	nodePorts apiserver.PortRange
}

// The limits of upstream's apiserver for the size of a range, in bits of the host part.
const (
	fewestHostBits = 3
	mostHostBits   = 64
)

func (o *Options) network() (network, error) {
	var n network
	var err error
	if o.API.AdvertiseAddress != "" {
		n.advertise, err = netip.ParseAddr(o.API.AdvertiseAddress)
		if err != nil || n.advertise.IsLoopback() || n.advertise.IsUnspecified() || n.advertise.IsMulticast() || n.advertise.IsLinkLocalUnicast() {
			return n, fmt.Errorf("advertise address %q is not an IP address that Endpoints may name", o.API.AdvertiseAddress)
		}
	}
	if len(o.API.ServiceRanges) > 2 {
		return n, fmt.Errorf("%d ranges of cluster IPs were given: there may be one of each IP family", len(o.API.ServiceRanges))
	}
	for _, text := range o.API.ServiceRanges {
		prefix, err := parseRange(text)
		if err != nil {
			return n, err
		}
		n.ranges = append(n.ranges, prefix)
	}
	if len(n.ranges) == 2 && n.ranges[0].Addr().Is4() == n.ranges[1].Addr().Is4() {
		return n, fmt.Errorf("the ranges of cluster IPs %s and %s are of one IP family", n.ranges[0], n.ranges[1])
	}
	if n.advertise.IsValid() && len(n.ranges) > 0 && n.advertise.Is4() != n.ranges[0].Addr().Is4() {
		return n, fmt.Errorf("the advertise address %s is not of the IP family of the first range of cluster IPs, %s", n.advertise, n.ranges[0])
	}
	if o.API.NodePorts != "" {
		if n.nodePorts, err = apiserver.ParsePortRange(o.API.NodePorts); err != nil {
			return n, fmt.Errorf("reading the range of node ports: %w", err)
		}
	}
	return n, nil
}

func parseRange(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Addr().Is4In6() {
		return prefix, fmt.Errorf("the range of cluster IPs %q is not a network such as 10.96.0.0/16", text)
	}
	host := prefix.Addr().BitLen() - prefix.Bits()
	if host > mostHostBits || host < fewestHostBits {
		return prefix, fmt.Errorf("the range of cluster IPs %s must have 8 addresses at least, and a prefix of 64 bits at least if it is of IPv6", prefix)
	}
	return prefix.Masked(), nil
}
