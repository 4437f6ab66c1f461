package nodes

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestFamilies checks the addresses of nodes in clusters of each kind, also of a second process that
// takes the nodes over, and of Nodes that a client creates.
func TestFamilies(t *testing.T) {
	for _, tt := range []struct {
		services               []string
		ranges, ips, addresses []string
	}{
		{nil, []string{"10.244.0.0/24"}, []string{"10.244.0.2", "invalid IP"}, []string{"172.18.0.2"}},
		{[]string{"10.96.0.0/16"}, []string{"10.244.0.0/24"}, []string{"10.244.0.2", "invalid IP"}, []string{"172.18.0.2"}},
		{[]string{"10.96.0.0/16", "fd00::/112"}, []string{"10.244.0.0/24", "fd00:10:af4::/64"}, []string{"10.244.0.2", "fd00:10:af4::2"}, []string{"172.18.0.2", "fd00:18::ac12:2"}},
		{[]string{"fd00::/112", " 10.96.0.0/16"}, []string{"fd00:10:af4::/64", "10.244.0.0/24"}, []string{"fd00:10:af4::2", "10.244.0.2"}, []string{"fd00:18::ac12:2", "172.18.0.2"}},
		{[]string{"fd00::/112"}, []string{"fd00:10:af4::/64"}, []string{"fd00:10:af4::2", "invalid IP"}, []string{"fd00:18::ac12:2"}},
	} {
		first := NewTable()
		first.Speak(FamiliesOf(tt.services))
		if err := first.Add(Spec{Name: "a"}); err != nil {
			t.Fatal(err)
		}
		check := func(process string, n *Node) {
			t.Helper()
			one, other := n.TakeAddress()
			if got := []string{one.String(), other.String()}; !slices.Equal(n.podCIDRs(), tt.ranges) || !slices.Equal(n.HostIPs(), tt.addresses) || !slices.Equal(got, tt.ips) {
				t.Errorf("services %q, %s: the ranges are %q, the node's addresses %q, a pod's %q; want %q, %q and %q", tt.services, process, n.podCIDRs(), n.HostIPs(), got, tt.ranges, tt.addresses, tt.ips)
			}
		}
		check("first", first.Get("a"))
		object := ObjectFor("a", &Spec{Name: "a"})
		object.Spec.PodCIDRs = first.Get("a").podCIDRs()
		object.Spec.PodCIDR = object.Spec.PodCIDRs[0]
		object.Status.Addresses = first.Get("a").reportedAddresses()
		second := NewTable()
		second.Speak(FamiliesOf(tt.services))
		if err := second.TakeOver([]*corev1.Node{object}, []Spec{{Name: "a"}, {Name: "b"}}, func(*corev1.Node) bool { return true }); err != nil {
			t.Fatal(err)
		}
		check("second", second.Get("a"))
		if a, b := second.Get("a"), second.Get("b"); a.PodRange().Overlaps(b.PodRange()) || a.Address == b.Address {
			t.Errorf("services %q: the nodes share addresses: %s and %s, %s and %s", tt.services, a.PodRange(), b.PodRange(), a.Address, b.Address)
		}
		third := NewTable()
		third.Speak(FamiliesOf(tt.services))
		adopted, err := third.Adopt(object)
		if err != nil {
			t.Fatal(err)
		}
		check("adopted", adopted)
	}
}

// TestStatedHostIPs checks which of the addresses of a Node its pods report.
func TestStatedHostIPs(t *testing.T) {
	of := func(t corev1.NodeAddressType, address string) corev1.NodeAddress {
		return corev1.NodeAddress{Type: t, Address: address}
	}
	for _, tt := range []struct {
		stated []corev1.NodeAddress
		want   []string
	}{
		{[]corev1.NodeAddress{of(corev1.NodeExternalIP, "1.2.3.4"), of(corev1.NodeInternalIP, "10.0.0.1"), of(corev1.NodeInternalIP, "10.0.0.2")}, []string{"10.0.0.1"}},
		{[]corev1.NodeAddress{of(corev1.NodeInternalIP, "fd01::1"), of(corev1.NodeInternalIP, "fd01::2"), of(corev1.NodeInternalIP, "10.0.0.1")}, []string{"fd01::1", "10.0.0.1"}},
	} {
		object := ObjectFor("a", &Spec{Name: "a"})
		object.Status.Addresses = tt.stated
		n, err := NewTable().Adopt(object)
		if err != nil || !slices.Equal(n.HostIPs(), tt.want) {
			t.Errorf("Node with %v: %v, %v", tt.stated, n.HostIPs(), err)
		}
	}
}
