package services

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/members"
)

// TestEndpointOf has members on this host, which is called here, and on another.
func TestEndpointOf(t *testing.T) {
	own := netip.MustParseAddr("192.0.2.1")
	for _, test := range []struct{ host, address, want string }{
		{"here", "127.0.0.1:7001", "192.0.2.1:7001"},
		{"here", "10.0.0.1:7001", "10.0.0.1:7001"},
		{"there", "10.0.0.2:7001", "10.0.0.2:7001"},
		{"there", "127.0.0.1:7001", ""},
		{"here", "", ""},
		{"here", "nonsense", ""},
	} {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{hostnameLabel: test.host}, Annotations: map[string]string{members.AddressAnnotation: test.address},
		}}
		got := ""
		for _, e := range endpointOf(lease, "here", own) {
			got = netip.AddrPortFrom(e.ip, uint16(e.port)).String()
		}
		if got != test.want {
			t.Errorf("%q on %s: %q, want %q", test.address, test.host, got, test.want)
		}
	}
}

// TestSliceGroups has servers on two ports and of two families.
func TestSliceGroups(t *testing.T) {
	at := func(text string) endpoint {
		address := netip.MustParseAddrPort(text)
		return endpoint{address.Addr(), int32(address.Port())}
	}
	servers := sortedEndpoints([]endpoint{at("10.0.0.2:6443"), at("10.0.0.1:7000"), at("10.0.0.1:6443"), at("[2001:db8::1]:7000"), at("10.0.0.2:6443")})
	got := map[string][]string{}
	for _, g := range sliceGroups(servers) {
		for _, s := range g.servers {
			got[g.name] = append(got[g.name], s.ip.String())
		}
	}
	want := map[string][]string{"kubernetes": {"10.0.0.1", "10.0.0.2"}, "kubernetes-ipv4-7000": {"10.0.0.1"}, "kubernetes-ipv6-7000": {"2001:db8::1"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	subsets := ownEndpoints(nil, servers).Subsets
	if len(subsets) != 2 || len(subsets[0].Addresses) != 2 || subsets[0].Ports[0].Port != 6443 || len(subsets[1].Addresses) != 2 || subsets[1].Ports[0].Port != 7000 {
		t.Errorf("the subsets are %+v", subsets)
	}
}
