package minikcm

import (
	"strings"
	"testing"
)

func TestPodNetworks(t *testing.T) {
	for name, test := range map[string]struct {
		opts Options
		want string
	}{
		"none":               {Options{Nodes: NodeOptions{Count: 3}}, ""},
		"default":            {Options{Nodes: NodeOptions{Count: 10_000, PodNetworks: PodNetworks{Allocate: true}}}, ""},
		"dual stack":         {Options{Nodes: NodeOptions{Count: 3, PodNetworks: PodNetworks{Allocate: true, ClusterCIDR: "10.0.0.0/8,fd00::/48", IPv4MaskSize: 26}}}, ""},
		"just enough":        {Options{Nodes: NodeOptions{Count: 4, PodNetworks: PodNetworks{Allocate: true, ClusterCIDR: "10.0.0.0/22"}}}, ""},
		"not enough":         {Options{Nodes: NodeOptions{Count: 4, Pools: []Pool{{Name: "a", Count: 1}}, PodNetworks: PodNetworks{Allocate: true, ClusterCIDR: "10.0.0.0/22"}}}, "5 nodes need more than the 4 networks of --cluster-cidr=10.0.0.0/22"},
		"not enough of IPv6": {Options{Nodes: NodeOptions{Count: 3, PodNetworks: PodNetworks{Allocate: true, ClusterCIDR: "10.0.0.0/22,fd00::/63"}}}, "more than the 2 networks"},
		"not allocated":      {Options{Nodes: NodeOptions{PodNetworks: PodNetworks{ClusterCIDR: "10.0.0.0/22"}}}, "without --allocate-node-cidrs"},
		"too small":          {Options{Nodes: NodeOptions{PodNetworks: PodNetworks{Allocate: true, ClusterCIDR: "10.0.0.0/25"}}}, "smaller than a node's network"},
		"no range":           {Options{Nodes: NodeOptions{PodNetworks: PodNetworks{Allocate: true, ClusterCIDR: "pods"}}}, "--cluster-cidr"},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.opts.Validate()
			if err == nil && test.want != "" || err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}
