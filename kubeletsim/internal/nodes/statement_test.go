package nodes

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

func statedNode(change ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	for _, f := range change {
		f(node)
	}
	return node
}

func address(kind corev1.NodeAddressType, text string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: kind, Address: text})
	}
}

// What a Node states is kept, and the rest filled in.
func TestStatedNode(t *testing.T) {
	amounts := func(capacity, allocatable corev1.ResourceList) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Status.Capacity, n.Status.Allocatable = capacity, allocatable }
	}
	label := func(key, value string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Labels = map[string]string{key: value} }
	}
	for name, tt := range map[string]struct {
		Node *corev1.Node
		want string
	}{
		"nothing":              {statedNode(), "cpu 32/32 pods 250/250 172.18.0.2 InternalIP=172.18.0.2 Hostname=n"},
		"capacity":             {statedNode(amounts(podtest.Resources("cpu", "4", "pods", "9"), nil)), "cpu 4/4 pods 9/9 172.18.0.2 InternalIP=172.18.0.2 Hostname=n"},
		"allocatable":          {statedNode(amounts(nil, podtest.Resources("cpu", "4"))), "cpu 4/4 pods 250/250 172.18.0.2 InternalIP=172.18.0.2 Hostname=n"},
		"both":                 {statedNode(amounts(podtest.Resources("cpu", "4"), podtest.Resources("cpu", "3"))), "cpu 4/3 pods 250/250 172.18.0.2 InternalIP=172.18.0.2 Hostname=n"},
		"devices":              {statedNode(amounts(podtest.Resources("example.com/gpu", "8"), nil)), "cpu 32/32 pods 250/250 example.com/gpu 8/8 172.18.0.2 InternalIP=172.18.0.2 Hostname=n"},
		"address":              {statedNode(address(corev1.NodeInternalIP, "192.0.2.7")), "cpu 32/32 pods 250/250 192.0.2.7 InternalIP=192.0.2.7 Hostname=n"},
		"address of IPv6":      {statedNode(address(corev1.NodeInternalIP, "fd00::7")), "cpu 32/32 pods 250/250 fd00::7 InternalIP=fd00::7 Hostname=n"},
		"address that is none": {statedNode(address(corev1.NodeInternalIP, "here")), "cpu 32/32 pods 250/250 172.18.0.2 InternalIP=here Hostname=n"},
		"addresses": {
			statedNode(address(corev1.NodeHostName, "host"), address(corev1.NodeExternalIP, "203.0.113.7")),
			"cpu 32/32 pods 250/250 172.18.0.2 Hostname=host ExternalIP=203.0.113.7 InternalIP=172.18.0.2",
		},
		"pods without number": {statedNode(amounts(podtest.Resources("pods", "1M"), nil)), "cpu 32/32 pods 1M/1M 172.18.0.2 InternalIP=172.18.0.2 Hostname=n"},
		"architecture":        {statedNode(label(corev1.LabelArchStable, "riscv64")), "cpu 32/32 pods 250/250 riscv64 172.18.0.2 InternalIP=172.18.0.2 Hostname=n"},
		"versions": {
			statedNode(func(n *corev1.Node) {
				n.Status.NodeInfo = corev1.NodeSystemInfo{KubeletVersion: "fake", BootID: "mine", Swap: &corev1.NodeSwapStatus{Capacity: new(int64(1))}}
			}),
			"cpu 32/32 pods 250/250 fake mine 172.18.0.2 InternalIP=172.18.0.2 Hostname=n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := NewTable().Adopt(tt.Node)
			if err != nil {
				t.Fatal(err)
			}
			versions := Versions{Kubelet: "v1"}
			status, _ := Status(tt.Node, n, versions, podtest.Epoch)
			if got := said(n, &status); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			for key, value := range tt.Node.Labels {
				if missing := MissingPatch(tt.Node, n, versions).Metadata.Labels; missing[key] != "" {
					t.Errorf("label %s=%s becomes %s", key, value, missing[key])
				}
			}
			// What was filled in is a statement, too: another process adopts the same node.
			node := tt.Node.DeepCopy()
			node.Status = status
			again, err := NewTable().Adopt(node)
			if err != nil {
				t.Fatal(err)
			}
			if StatusChanged(node, again, versions, podtest.Epoch) {
				later, _ := Status(node, again, versions, podtest.Epoch)
				t.Errorf("adopted again, it changes:\n%s", cmp.Diff(status, later))
			}
		})
	}
}

// said shows the parts of a node's status that can differ.
func said(n *Node, status *corev1.NodeStatus) string {
	text := ""
	for _, name := range []corev1.ResourceName{"cpu", "pods", "example.com/gpu"} {
		if capacity, ok := status.Capacity[name]; ok {
			allocatable := status.Allocatable[name]
			text += fmt.Sprintf("%s %s/%s ", name, capacity.String(), allocatable.String())
		}
	}
	made := nodeInfo(testNodeNamed(n.Name), Versions{Kubelet: "v1"})
	for _, pair := range [][2]string{
		{status.NodeInfo.Architecture, made.Architecture},
		{status.NodeInfo.KubeletVersion, made.KubeletVersion},
		{status.NodeInfo.BootID, made.BootID},
	} {
		if pair[0] != pair[1] {
			text += pair[0] + " "
		}
	}
	text += n.Address
	for _, a := range status.Addresses {
		text += fmt.Sprintf(" %s=%s", a.Type, a.Address)
	}
	return text
}

func testNodeNamed(name string) *Node {
	return newNode(Spec{Name: name}, "172.18.0.2", netip.MustParsePrefix("10.244.0.0/24"))
}

// A range of pod addresses is kept if it can be used by the node alone.
func TestStatedPodRange(t *testing.T) {
	ranged := func(ranges ...string) *corev1.Node {
		return statedNode(func(n *corev1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = ranges[0], ranges })
	}
	for name, tt := range map[string]struct {
		Node *corev1.Node
		want string
	}{
		"none":            {statedNode(), "10.244.1.0/24"},
		"elsewhere":       {ranged("192.168.7.0/26"), "192.168.7.0/26"},
		"ours, free":      {ranged("10.250.7.0/25"), "10.250.7.0/25"},
		"ours, taken":     {ranged("10.244.0.0/24"), "10.244.1.0/24"},
		"around a taken":  {ranged("10.244.0.0/16"), "10.244.1.0/24"},
		"IPv6":            {ranged("fd00::/64"), "10.244.1.0/24"},
		"two families":    {ranged("fd00::/64", "192.168.7.0/24"), "192.168.7.0/24"},
		"without a host":  {ranged("192.168.7.4/31"), "10.244.1.0/24"},
		"not from its 0":  {ranged("192.168.7.9/24"), "192.168.7.0/24"},
		"any number pods": {statedNode(func(n *corev1.Node) { n.Status.Capacity = podtest.Resources("pods", "1M") }), "10.244.4.0/22"},
	} {
		t.Run(name, func(t *testing.T) {
			table := NewTable()
			if err := table.Add(Spec{Name: "node-0"}); err != nil {
				t.Fatal(err)
			}
			n, err := table.Adopt(tt.Node)
			if err != nil || n.PodRange().String() != tt.want {
				t.Errorf("got %v, %v; want %s", n, err, tt.want)
			}
		})
	}
}

// A removed node gives back its addresses.
func TestRemovedNode(t *testing.T) {
	table := NewTable()
	n, err := table.Adopt(statedNode())
	if err != nil {
		t.Fatal(err)
	}
	n.Lose(n.UID())
	table.Remove(n)
	if table.Get(n.Name) != nil || len(table.addresses.held) != 0 || table.blocks.held != (blocks{}).held {
		t.Errorf("left are %v, %v", table.addresses.held, table.blocks.held)
	}
}
