package controllers_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

func newNetworks(t *testing.T, nodes int, networks minikcm.PodNetworks) *minikcmtest.Cluster {
	t.Helper()
	networks.Allocate = true
	return minikcmtest.New(t, minikcmtest.WithNodes(nodes), minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.PodNetworks, o.ManageNodes = networks, minikcm.ManageAll
	}))
}

func advance(t *testing.T, c *minikcmtest.Cluster, d time.Duration) {
	t.Helper()
	if err := c.Advance(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// nodesOf returns the Nodes by name, and checks that their networks do not overlap.
func nodesOf(t *testing.T, c *minikcmtest.Cluster) map[string]*corev1.Node {
	t.Helper()
	list, err := c.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nodes, holders := map[string]*corev1.Node{}, map[netip.Prefix]string{}
	for i := range list.Items {
		node := &list.Items[i]
		nodes[node.Name] = node
		for _, text := range node.Spec.PodCIDRs {
			network := netip.MustParsePrefix(text)
			for other, holder := range holders {
				if other.Overlaps(network) {
					t.Errorf("%s has %s, which overlaps %s of %s", node.Name, network, other, holder)
				}
			}
			holders[network] = node.Name
		}
	}
	return nodes
}

func readyCondition(node *corev1.Node) corev1.NodeCondition {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	return corev1.NodeCondition{}
}

// TestPodsHaveAddressesOfTheirNode runs a pod on each of some nodes with networks of two families.
func TestPodsHaveAddressesOfTheirNode(t *testing.T) {
	t.Parallel()
	c := newNetworks(t, 3, minikcm.PodNetworks{ClusterCIDR: "10.7.0.0/24,fd00:7::/48", IPv4MaskSize: 28, IPv6MaskSize: 60})
	for i := range 3 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i)}, Spec: corev1.PodSpec{
			NodeName: fmt.Sprint("node-", i), Containers: []corev1.Container{{Name: "c", Image: "nginx"}},
		}}
		if _, err := c.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	advance(t, c, 5*time.Second)
	nodes := nodesOf(t, c)
	for name, node := range nodes {
		if len(node.Spec.PodCIDRs) != 2 || node.Spec.PodCIDR != node.Spec.PodCIDRs[0] || readyCondition(node).Status != corev1.ConditionTrue || len(node.Spec.Taints) > 0 {
			t.Errorf("node %s: %+v %+v", name, node.Spec, readyCondition(node))
		}
	}
	pods, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodRunning || len(pod.Status.PodIPs) != 2 {
			t.Fatalf("pod %s: %+v", pod.Name, pod.Status)
		}
		for i, network := range nodes[pod.Spec.NodeName].Spec.PodCIDRs {
			if ip := pod.Status.PodIPs[i].IP; !netip.MustParsePrefix(network).Contains(netip.MustParseAddr(ip)) {
				t.Errorf("pod %s has %s, its node %s", pod.Name, ip, network)
			}
		}
	}
}

// TestNoNetworkIsLeft adds a node that no network is left for, and deletes another one.
func TestNoNetworkIsLeft(t *testing.T) {
	t.Parallel()
	c := newNetworks(t, 2, minikcm.PodNetworks{ClusterCIDR: "10.7.0.0/23"})
	advance(t, c, 5*time.Second)
	late := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "late"}}
	if _, err := c.Client().CoreV1().Nodes().Create(t.Context(), late, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.EventuallyEvent("default", "Node", "Normal CIDRNotAvailable Node late status is now: CIDRNotAvailable")
	if node := nodesOf(t, c)["late"]; readyCondition(node).Status != corev1.ConditionFalse || readyCondition(node).Reason != "KubeletNotReady" || node.Spec.PodCIDR != "" {
		t.Errorf("node late: %+v %+v", node.Spec, readyCondition(node))
	}
	if err := c.Client().CoreV1().Nodes().Delete(t.Context(), "node-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(t, c, 5*time.Second)
	if node := nodesOf(t, c)["late"]; readyCondition(node).Status != corev1.ConditionTrue || node.Spec.PodCIDR == "" {
		t.Errorf("node late: %+v %+v", node.Spec, readyCondition(node))
	}
}
