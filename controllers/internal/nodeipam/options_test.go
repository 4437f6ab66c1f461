package nodeipam

import (
	"fmt"
	"strings"
	"testing"
)

func TestClusters(t *testing.T) {
	for name, test := range map[string]struct {
		opts      Options
		want, err string
	}{
		"IPv4":               {Options{ClusterCIDR: "10.244.0.0/16"}, "[{10.244.0.0/16 24}]", ""},
		"IPv6":               {Options{ClusterCIDR: "fd00::/48"}, "[{fd00::/48 64}]", ""},
		"dual stack":         {Options{ClusterCIDR: "fd00::/48, 10.244.0.0/16"}, "[{fd00::/48 64} {10.244.0.0/16 24}]", ""},
		"sizes":              {Options{ClusterCIDR: "10.244.0.0/16,fd00::/48", IPv4MaskSize: 26, IPv6MaskSize: 56}, "[{10.244.0.0/16 26} {fd00::/48 56}]", ""},
		"size":               {Options{ClusterCIDR: "10.244.0.0/16", MaskSize: 25}, "[{10.244.0.0/16 25}]", ""},
		"size of IPv6":       {Options{ClusterCIDR: "fd00::/48", MaskSize: 60}, "[{fd00::/48 60}]", ""},
		"size of the family": {Options{ClusterCIDR: "10.244.0.0/16", IPv4MaskSize: 25}, "[{10.244.0.0/16 25}]", ""},
		"no range":           {Options{}, "", "needs --cluster-cidr"},
		"no prefix":          {Options{ClusterCIDR: "10.244.0.0"}, "", "--cluster-cidr: "},
		"two of a family":    {Options{ClusterCIDR: "10.244.0.0/16,10.245.0.0/16"}, "", "one of IPv4 and one of IPv6"},
		"three":              {Options{ClusterCIDR: "10.244.0.0/16,fd00::/48,fd01::/48"}, "", "one of IPv4 and one of IPv6"},
		"one size, dual":     {Options{ClusterCIDR: "10.244.0.0/16,fd00::/48", MaskSize: 25}, "", "not for clusters with two ranges"},
		"both kinds of size": {Options{ClusterCIDR: "10.244.0.0/16", MaskSize: 25, IPv4MaskSize: 25}, "", "cannot be combined"},
		"other family":       {Options{ClusterCIDR: "10.244.0.0/16", IPv6MaskSize: 64}, "", "IPv4 only"},
		"other family, IPv6": {Options{ClusterCIDR: "fd00::/48", IPv4MaskSize: 24}, "", "IPv6 only"},
		"another allocator":  {Options{ClusterCIDR: "10.244.0.0/16", AllocatorType: "CloudAllocator"}, "", "there is only RangeAllocator"},
	} {
		t.Run(name, func(t *testing.T) {
			clusters, err := test.opts.Clusters()
			if err != nil && (test.err == "" || !strings.Contains(err.Error(), test.err)) || err == nil && test.err != "" {
				t.Fatalf("error %v, want %q in it", err, test.err)
			}
			if got := fmt.Sprint(clusters); err == nil && got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
	if _, err := networksOf(&Options{ClusterCIDR: "10.244.0.0/16", ServiceCIDR: "10.96.0.0"}); err == nil {
		t.Error("a range of Services without a prefix is accepted")
	}
}
