package minikcm

import (
	"errors"
	"fmt"
	"strings"

	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/kubeletsim"
)

// DefaultClusterCIDR is PodNetworks.ClusterCIDR by default.
const DefaultClusterCIDR = "10.192.0.0/10"

// PodNetworks are the networks that the addresses of pods are from.
type PodNetworks struct {
	// Allocate makes the node-ipam-controller give each Node its networks, as in a cluster with
	// --allocate-node-cidrs: a node is not ready before it has them. Without it, each simulated
	// kubelet registers with a network of each IP family of Options.API.ServiceRanges, of 10.192.0.0/10
	// and fd00:10::/32, and the fields below must be empty.
	Allocate bool
	// ClusterCIDR is the range of all networks, or one of IPv4 and one of IPv6, separated by a
	// comma. Empty means DefaultClusterCIDR.
	ClusterCIDR string
	// MaskSize is the prefix length of the nodes' networks with one range, IPv4MaskSize and IPv6MaskSize the
	// prefix length of the networks of a family. 0 means 24 for IPv4 and 64 for IPv6.
	MaskSize, IPv4MaskSize, IPv6MaskSize int
}

// errNotAllocated is the error of options for networks that nothing allocates.
var errNotAllocated = errors.New("--cluster-cidr and --node-cidr-mask-size have no effect without --allocate-node-cidrs")

func (p *PodNetworks) clusterCIDR() string {
	if strings.TrimSpace(p.ClusterCIDR) == "" {
		return DefaultClusterCIDR
	}
	return p.ClusterCIDR
}

// families returns the IP families of nodes and pods: the families of ClusterCIDR if it is allocated, otherwise of
// the Services.
func (o *Options) families() kubeletsim.Families {
	if o.Nodes.PodNetworks.Allocate {
		return kubeletsim.FamiliesOf(strings.Split(o.Nodes.PodNetworks.clusterCIDR(), ","))
	}
	return kubeletsim.FamiliesOf(o.API.ServiceRanges)
}

// check returns an error for networks that cannot be allocated, or not to so many nodes.
func (p *PodNetworks) check(count int) error {
	if !p.Allocate {
		if *p != (PodNetworks{}) {
			return errNotAllocated
		}
		return nil
	}
	opts := controllers.NodeNetworks{ClusterCIDR: p.clusterCIDR(), MaskSize: p.MaskSize, IPv4MaskSize: p.IPv4MaskSize, IPv6MaskSize: p.IPv6MaskSize}
	room, err := opts.Room()
	if err != nil {
		return err
	}
	if count > room {
		return fmt.Errorf("%d nodes need more than the %d networks of --cluster-cidr=%s", count, room, opts.ClusterCIDR)
	}
	return nil
}

// controllerSettings returns the options of the controllers.
func (o *Options) controllerSettings() *controllers.Settings {
	s := controllers.Defaults()
	s.KubeCloudShared.CloudProvider.Name = o.Nodes.Cloud
	if p := &o.Nodes.PodNetworks; p.Allocate {
		s.KubeCloudShared.AllocateNodeCIDRs, s.KubeCloudShared.ClusterCIDR = true, p.clusterCIDR()
		c := &s.NodeIPAMController
		c.NodeCIDRMaskSize, c.NodeCIDRMaskSizeIPv4, c.NodeCIDRMaskSizeIPv6 = int32(p.MaskSize), int32(p.IPv4MaskSize), int32(p.IPv6MaskSize)
		c.ServiceCIDR = strings.Join(o.API.ServiceRanges, ",")
	}
	return s
}

// declaredNodes returns the number of the nodes of the options.
func (o *Options) declaredNodes() int {
	n := max(o.Nodes.Count, 0)
	for i := range o.Nodes.Pools {
		n += o.Nodes.Pools[i].Count
	}
	return n
}
