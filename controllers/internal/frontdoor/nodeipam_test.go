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
		o.Nodes.PodNetworks, o.Nodes.Manage = networks, minikcm.ManageAll
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

// TestNodesHaveTheFamiliesOfServices runs a pod with its own network, and one with its node's, behind a
// Service of all families of the cluster.
func TestNodesHaveTheFamiliesOfServices(t *testing.T) {
	t.Parallel()
	for name, ranges := range map[string][]string{
		"IPv4 first": {"10.96.0.0/16", "fd00:10:96::/112"}, "IPv6 first": {"fd00:10:96::/112", "10.96.0.0/16"}, "IPv6": {"fd00:10:96::/112"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) { o.API.ServiceRanges = ranges }))
			core := c.Client().CoreV1()
			for _, host := range []bool{false, true} {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("host-", host), Labels: map[string]string{"app": "a"}}, Spec: corev1.PodSpec{
					HostNetwork: host, Containers: []corev1.Container{{Name: "c", Image: "nginx"}},
				}}
				if _, err := core.Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			policy := corev1.IPFamilyPolicyPreferDualStack
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": "a"}, IPFamilyPolicy: &policy, Ports: []corev1.ServicePort{{Port: 80}},
			}}
			service, err := core.Services("default").Create(t.Context(), service, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			advance(t, c, 5*time.Second)
			slices, err := c.Client().DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=a"})
			if err != nil || len(slices.Items) != len(ranges) {
				t.Fatalf("%d EndpointSlices, %v", len(slices.Items), err)
			}
			for _, slice := range slices.Items {
				if len(slice.Endpoints) != 2 {
					t.Errorf("%s: %d endpoints", slice.AddressType, len(slice.Endpoints))
				}
			}
			pods, err := core.Pods("default").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, pod := range pods.Items {
				if len(pod.Status.PodIPs) != len(ranges) || len(pod.Status.HostIPs) != len(ranges) || pod.Status.PodIP != pod.Status.PodIPs[0].IP || pod.Status.HostIP != pod.Status.HostIPs[0].IP {
					t.Fatalf("pod %s: %v, %v", pod.Name, pod.Status.PodIPs, pod.Status.HostIPs)
				}
				for i, family := range service.Spec.IPFamilies {
					for _, ip := range []string{pod.Status.PodIPs[i].IP, pod.Status.HostIPs[i].IP} {
						if netip.MustParseAddr(ip).Is4() != (family == corev1.IPv4Protocol) {
							t.Errorf("pod %s: %s is no %s address", pod.Name, ip, family)
						}
					}
				}
			}
		})
	}
}
