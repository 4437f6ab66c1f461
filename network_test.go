package minikcm

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"minikcm.dev/minikcm/apiserver"
)

func TestNetworkOptions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opts Options
		want string // part of the error; empty: there is none
	}{
		"nothing":             {Options{}, ""},
		"both families":       {Options{API: APIOptions{AdvertiseAddress: "2001:db8::5", ServiceRanges: []string{"fd00::/108", "10.0.0.0/8"}, NodePorts: "1000+10"}}, ""},
		"no address":          {Options{API: APIOptions{AdvertiseAddress: "here"}}, `advertise address "here" is not an IP address that Endpoints may name`},
		"loopback":            {Options{API: APIOptions{AdvertiseAddress: "::1"}}, `advertise address "::1" is not an IP address that Endpoints may name`},
		"family of address":   {Options{API: APIOptions{AdvertiseAddress: "192.0.2.1", ServiceRanges: []string{"fd00::/108"}}}, "the advertise address 192.0.2.1 is not of the IP family of the first range of cluster IPs, fd00::/108"},
		"no range":            {Options{API: APIOptions{ServiceRanges: []string{"10.96.0.0"}}}, `the range of cluster IPs "10.96.0.0" is not a network such as 10.96.0.0/16`},
		"three ranges":        {Options{API: APIOptions{ServiceRanges: []string{"10.0.0.0/24", "fd00::/108", "10.0.1.0/24"}}}, "3 ranges of cluster IPs were given"},
		"two of one family":   {Options{API: APIOptions{ServiceRanges: []string{"10.0.0.0/24", "10.0.1.0/24"}}}, "are of one IP family"},
		"too small":           {Options{API: APIOptions{ServiceRanges: []string{"10.0.0.0/30"}}}, "must have 8 addresses at least"},
		"too large":           {Options{API: APIOptions{ServiceRanges: []string{"fd00::/48"}}}, "a prefix of 64 bits at least"},
		"load balancers":      {Options{API: APIOptions{LoadBalancers: "2001:db8::/64"}}, `the network of load balancers "2001:db8::/64" is not a network of IPv4`},
		"node ports reversed": {Options{API: APIOptions{NodePorts: "5-4"}}, `port range "5-4" ends before it begins`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.opts.Validate()
			if (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
	opts := Options{API: APIOptions{AdvertiseAddress: "192.0.2.1", ServiceRanges: []string{"10.0.0.9/24", "fd00::/108"}, NodePorts: "1000-1010"}}
	n, err := opts.network()
	ranges := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("fd00::/108")}
	if err != nil || !slices.Equal(n.ranges, ranges) || n.nodePorts != (apiserver.PortRange{First: 1000, Last: 1010}) || n.advertise != netip.MustParseAddr("192.0.2.1") {
		t.Errorf("got %+v, %v", n, err)
	}
}
