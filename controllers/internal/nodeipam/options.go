package nodeipam

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/nodeipam/decide"
)

// RangeAllocator is the only type of allocator that there is.
const RangeAllocator = "RangeAllocator"

// The lengths of the prefixes of nodes' networks by default, as upstream.
const (
	DefaultIPv4Bits = 24
	DefaultIPv6Bits = 64
)

// Options configure the controller.
type Options struct {
	// Allocate turns the controller on.
	Allocate bool
	// AllocatorType is the name of the allocator; empty means RangeAllocator.
	AllocatorType string
	// ClusterCIDR is the range of the pods' addresses, or one of each IP family, separated by a
	// comma. ServiceCIDR is the same for Services; networks do not overlap it.
	ClusterCIDR, ServiceCIDR string
	// MaskSize is the prefix length of the nodes' networks in a cluster with one range;
	// IPv4MaskSize and IPv6MaskSize are the prefix lengths for each family. 0 means the default.
	MaskSize, IPv4MaskSize, IPv6MaskSize int
}

// flags adds the flags of the options.
func flags(fs *pflag.FlagSet, s *controller.Settings) {
	shared, c := &s.KubeCloudShared, &s.NodeIPAMController
	fs.BoolVar(&shared.AllocateNodeCIDRs, "allocate-node-cidrs", shared.AllocateNodeCIDRs, "give pod networks to the nodes that have none; needs --cluster-cidr")
	fs.StringVar(&shared.CIDRAllocatorType, "cidr-allocator-type", shared.CIDRAllocatorType, "how pod networks are allocated; there is only "+RangeAllocator)
	fs.StringVar(&shared.ClusterCIDR, "cluster-cidr", shared.ClusterCIDR, "range of the addresses of pods, or one of IPv4 and one of IPv6, separated by a comma; used with --allocate-node-cidrs")
	fs.StringVar(&c.ServiceCIDR, "service-cluster-ip-range", c.ServiceCIDR, "the same for Services; pod networks do not overlap it")
	fs.Int32Var(&c.NodeCIDRMaskSize, "node-cidr-mask-size", c.NodeCIDRMaskSize, "length of the prefix of a node's pod network, with one range (default 24 for IPv4, 64 for IPv6)")
	fs.Int32Var(&c.NodeCIDRMaskSizeIPv4, "node-cidr-mask-size-ipv4", c.NodeCIDRMaskSizeIPv4, "the same of its IPv4 network, with two ranges (default 24)")
	fs.Int32Var(&c.NodeCIDRMaskSizeIPv6, "node-cidr-mask-size-ipv6", c.NodeCIDRMaskSizeIPv6, "the same of its IPv6 network, with two ranges (default 64)")
}

func options(s *controller.Settings) *Options {
	shared, c := &s.KubeCloudShared, &s.NodeIPAMController
	return &Options{
		Allocate: shared.AllocateNodeCIDRs, AllocatorType: shared.CIDRAllocatorType,
		ClusterCIDR: shared.ClusterCIDR, ServiceCIDR: c.ServiceCIDR,
		MaskSize: int(c.NodeCIDRMaskSize), IPv4MaskSize: int(c.NodeCIDRMaskSizeIPv4), IPv6MaskSize: int(c.NodeCIDRMaskSizeIPv6),
	}
}

// Clusters returns the ranges of the pods' addresses. It returns an error for options that
// upstream refuses.
func (o *Options) Clusters() ([]decide.Cluster, error) {
	if o.AllocatorType != "" && o.AllocatorType != RangeAllocator {
		return nil, fmt.Errorf("--cidr-allocator-type=%s: there is only %s", o.AllocatorType, RangeAllocator)
	}
	if strings.TrimSpace(o.ClusterCIDR) == "" {
		return nil, errors.New("--allocate-node-cidrs needs --cluster-cidr")
	}
	ranges, err := rangesOf("--cluster-cidr", o.ClusterCIDR)
	if err != nil {
		return nil, err
	}
	if err := o.checkMaskSizes(ranges); err != nil {
		return nil, err
	}
	var clusters []decide.Cluster
	for _, r := range ranges {
		bits := cmp.Or(o.MaskSize, o.IPv4MaskSize, DefaultIPv4Bits)
		if r.Addr().Is6() {
			bits = cmp.Or(o.MaskSize, o.IPv6MaskSize, DefaultIPv6Bits)
		}
		clusters = append(clusters, decide.Cluster{Range: r, NodeBits: bits})
	}
	return clusters, nil
}

// Room returns how many nodes can get networks.
func (o *Options) Room() (int, error) {
	clusters, err := o.Clusters()
	if err != nil {
		return 0, err
	}
	if _, err := decide.New(clusters); err != nil {
		return 0, err
	}
	room := math.MaxInt
	for _, c := range clusters {
		room = min(room, 1<<(c.NodeBits-c.Range.Bits()))
	}
	return room, nil
}

// services returns the ranges of the Services' addresses.
func (o *Options) services() ([]netip.Prefix, error) {
	if strings.TrimSpace(o.ServiceCIDR) == "" {
		return nil, nil
	}
	return rangesOf("--service-cluster-ip-range", o.ServiceCIDR)
}

// rangesOf parses one range, or two of different families.
func rangesOf(flag, text string) ([]netip.Prefix, error) {
	var ranges []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		r, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		ranges = append(ranges, r.Masked())
	}
	if len(ranges) > 2 || len(ranges) == 2 && ranges[0].Addr().Is4() == ranges[1].Addr().Is4() {
		return nil, fmt.Errorf("%s=%s: expected one range, or one of IPv4 and one of IPv6", flag, text)
	}
	return ranges, nil
}

func (o *Options) checkMaskSizes(ranges []netip.Prefix) error {
	switch {
	case o.MaskSize != 0 && len(ranges) > 1:
		return errors.New("--node-cidr-mask-size is not for clusters with two ranges: use --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6")
	case o.MaskSize != 0 && (o.IPv4MaskSize != 0 || o.IPv6MaskSize != 0):
		return errors.New("--node-cidr-mask-size cannot be combined with --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6")
	case len(ranges) == 1 && ranges[0].Addr().Is6() && o.IPv4MaskSize != 0:
		return errors.New("--node-cidr-mask-size-ipv4 is not for clusters with IPv6 only")
	case len(ranges) == 1 && ranges[0].Addr().Is4() && o.IPv6MaskSize != 0:
		return errors.New("--node-cidr-mask-size-ipv6 is not for clusters with IPv4 only")
	}
	return nil
}
