package services

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/members"
)

// hostnameLabel is the label with the host of a member, as upstream's on its identity Lease.
const hostnameLabel = "kubernetes.io/hostname"

// servers returns the endpoints of all live servers on the store: this one, which is at, and
// those whose Leases are renewed (package members).
func (s *Services) servers(ctx context.Context, at endpoint) ([]endpoint, error) {
	if !s.opts.SharedStore {
		return []endpoint{at}, nil
	}
	known, err := s.opts.Objects(coordinationv1.SchemeGroupVersion.WithResource("leases")).KnownIn(ctx, members.Namespace)
	if err != nil {
		return nil, fmt.Errorf("listing the Leases of the servers: %w", err)
	}
	var leases []*coordinationv1.Lease
	for _, obj := range known {
		if lease, ok := obj.(*coordinationv1.Lease); ok && lease.Labels[members.IdentityLabel] == members.IdentityValue {
			leases = append(leases, lease)
		}
	}
	// Members renew their Leases in the machine's time, whatever clock the cluster runs on.
	now := clock.Real().Now()
	s.liveness.Observe(leases, now)
	hostname, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("reading the host's name: %w", err)
	}
	found := []endpoint{at}
	for _, lease := range leases {
		if s.liveness.Live(lease.Name, now) {
			found = append(found, endpointOf(lease, hostname, at.ip)...)
		}
	}
	return sortedEndpoints(found), nil
}

// endpointOf returns the endpoint of a member; none if it has no address that Endpoints may
// contain. A member that listens on the loopback interface of this host gets the address that
// stands for this host (Advertised).
func endpointOf(lease *coordinationv1.Lease, hostname string, own netip.Addr) []endpoint {
	address, err := netip.ParseAddrPort(members.Address(lease))
	if err != nil {
		return nil // no HTTPS
	}
	switch ip := address.Addr(); {
	case reachable(ip):
		return []endpoint{{ip, int32(address.Port())}}
	case lease.Labels[hostnameLabel] == hostname:
		return []endpoint{{own, int32(address.Port())}}
	}
	return nil
}

// sortedEndpoints sorts endpoints by port and address, without repetitions.
func sortedEndpoints(endpoints []endpoint) []endpoint {
	slices.SortFunc(endpoints, func(a, b endpoint) int {
		if a.port != b.port {
			return int(a.port) - int(b.port)
		}
		return a.ip.Compare(b.ip)
	})
	return slices.Compact(endpoints)
}
