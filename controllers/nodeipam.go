package controllers

import (
	"github.com/spf13/pflag"

	"minikcm.dev/minikcm/controllers/internal/nodeipam"
)

func nodeIPAMFlags(fs *pflag.FlagSet, s *Settings) {
	shared, c := &s.KubeCloudShared, &s.NodeIPAMController
	fs.BoolVar(&shared.AllocateNodeCIDRs, "allocate-node-cidrs", shared.AllocateNodeCIDRs, "give pod networks to the nodes that have none; needs --cluster-cidr")
	fs.StringVar(&shared.CIDRAllocatorType, "cidr-allocator-type", shared.CIDRAllocatorType, "how pod networks are allocated; there is only "+nodeipam.RangeAllocator)
	fs.StringVar(&shared.ClusterCIDR, "cluster-cidr", shared.ClusterCIDR, "range of the addresses of pods, or one of IPv4 and one of IPv6, separated by a comma; used with --allocate-node-cidrs")
	fs.StringVar(&c.ServiceCIDR, "service-cluster-ip-range", c.ServiceCIDR, "the same for Services; pod networks do not overlap it")
	fs.Int32Var(&c.NodeCIDRMaskSize, "node-cidr-mask-size", c.NodeCIDRMaskSize, "length of the prefix of a node's pod network, with one range (default 24 for IPv4, 64 for IPv6)")
	fs.Int32Var(&c.NodeCIDRMaskSizeIPv4, "node-cidr-mask-size-ipv4", c.NodeCIDRMaskSizeIPv4, "the same of its IPv4 network, with two ranges (default 24)")
	fs.Int32Var(&c.NodeCIDRMaskSizeIPv6, "node-cidr-mask-size-ipv6", c.NodeCIDRMaskSizeIPv6, "the same of its IPv6 network, with two ranges (default 64)")
}

func nodeIPAMOptions(s *Settings) nodeipam.Options {
	shared, c := &s.KubeCloudShared, &s.NodeIPAMController
	return nodeipam.Options{
		Allocate: shared.AllocateNodeCIDRs, AllocatorType: shared.CIDRAllocatorType,
		ClusterCIDR: shared.ClusterCIDR, ServiceCIDR: c.ServiceCIDR,
		MaskSize: int(c.NodeCIDRMaskSize), IPv4MaskSize: int(c.NodeCIDRMaskSizeIPv4), IPv6MaskSize: int(c.NodeCIDRMaskSizeIPv6),
	}
}
