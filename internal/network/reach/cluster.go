package reach

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/routes"
	"minikcm.dev/minikcm/internal/network/services"
)

// Cluster holds the objects that decisions depend on. It is not safe for concurrent use.
type Cluster struct {
	Services services.Table
	Policies policy.Set
	Routes   routes.Table
	// DNS is the address of the cluster's name server, unless the Service kube-system/kube-dns states one.
	DNS netip.Addr
	// Domain is the cluster's domain; empty: dns.DefaultDomain.
	Domain string

	views views
	pods  map[netip.Addr]*corev1.Pod
	known map[types.NamespacedName]*corev1.Pod
	// hosts are the pods with ports on a node's addresses, by node: those of the host network, and those with host ports.
	hosts map[string]map[types.NamespacedName]*corev1.Pod
	nodes map[string]*corev1.Node
	// byAddress are the nodes by their addresses.
	byAddress map[netip.Addr]string
}

// New returns a cluster without objects.
func New() *Cluster {
	return &Cluster{
		pods: map[netip.Addr]*corev1.Pod{}, known: map[types.NamespacedName]*corev1.Pod{}, hosts: map[string]map[types.NamespacedName]*corev1.Pod{},
		nodes: map[string]*corev1.Node{}, byAddress: map[netip.Addr]string{},
	}
}

// SetPod adds or replaces a pod. One that has ended, or has no node yet, has no address.
func (c *Cluster) SetPod(pod *corev1.Pod) {
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	c.DeletePod(key)
	c.known[key] = pod
	if !attached(pod) {
		return
	}
	if !pod.Spec.HostNetwork {
		for _, address := range PodAddresses(pod) {
			c.pods[address] = pod
		}
	}
	if pod.Spec.HostNetwork || hasHostPort(pod) {
		if c.hosts[pod.Spec.NodeName] == nil {
			c.hosts[pod.Spec.NodeName] = map[types.NamespacedName]*corev1.Pod{}
		}
		c.hosts[pod.Spec.NodeName][key] = pod
	}
}

// attached reports whether a pod has its addresses.
func attached(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// DeletePod removes a pod.
func (c *Cluster) DeletePod(key types.NamespacedName) {
	pod := c.known[key]
	if pod == nil {
		return
	}
	delete(c.known, key)
	for _, address := range PodAddresses(pod) {
		if c.pods[address] == pod { // another pod may have it by now
			delete(c.pods, address)
		}
	}
	if of := c.hosts[pod.Spec.NodeName]; of != nil {
		if delete(of, key); len(of) == 0 {
			delete(c.hosts, pod.Spec.NodeName)
		}
	}
}

// Pod returns a pod by name; nil if there is none.
func (c *Cluster) Pod(namespace, name string) *corev1.Pod {
	return c.known[types.NamespacedName{Namespace: namespace, Name: name}]
}

// Pods returns the pods of a namespace that have an address and for which matches is true, sorted by name.
func (c *Cluster) Pods(namespace string, matches func(*corev1.Pod) bool) []*corev1.Pod {
	var list []*corev1.Pod
	for key, pod := range c.known {
		if key.Namespace == namespace && attached(pod) && matches(pod) {
			list = append(list, pod)
		}
	}
	slices.SortFunc(list, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// PodAddresses returns the addresses in a pod's status.
func PodAddresses(pod *corev1.Pod) []netip.Addr {
	list := pod.Status.PodIPs
	if len(list) == 0 && pod.Status.PodIP != "" {
		list = []corev1.PodIP{{IP: pod.Status.PodIP}}
	}
	var addresses []netip.Addr
	for _, given := range list {
		if address, err := netip.ParseAddr(given.IP); err == nil {
			addresses = append(addresses, address.Unmap())
		}
	}
	return addresses
}

func hasHostPort(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 })
	})
}

// SetNode adds or replaces a node.
func (c *Cluster) SetNode(node *corev1.Node) {
	c.DeleteNode(node.Name)
	c.nodes[node.Name] = node
	c.Policies.SetNode(node.Name, node.Labels)
	for _, address := range NodeAddresses(node) {
		c.byAddress[address] = node.Name
	}
}

// DeleteNode removes a node.
func (c *Cluster) DeleteNode(name string) {
	c.Policies.DeleteNode(name)
	if node := c.nodes[name]; node != nil {
		for _, address := range NodeAddresses(node) {
			if c.byAddress[address] == name {
				delete(c.byAddress, address)
			}
		}
		delete(c.nodes, name)
	}
}

// Node returns a node by name; nil if there is none.
func (c *Cluster) Node(name string) *corev1.Node { return c.nodes[name] }

// NodeAddresses returns the addresses in a node's status.
func NodeAddresses(node *corev1.Node) []netip.Addr {
	var addresses []netip.Addr
	for _, given := range node.Status.Addresses {
		if address, err := netip.ParseAddr(given.Address); err == nil && !slices.Contains(addresses, address) {
			addresses = append(addresses, address.Unmap())
		}
	}
	return addresses
}

// proxy returns a node as the rules of its Services see it.
func (c *Cluster) proxy(name string) *services.Node {
	n := &services.Node{Name: name}
	if node := c.nodes[name]; node != nil {
		n.Zone = node.Labels[corev1.LabelTopologyZone]
	}
	return n
}

// inPodNetwork returns the node whose pods have addresses of the network that an address is in; empty if there is none.
func (c *Cluster) inPodNetwork(address netip.Addr) string {
	found := ""
	for name, node := range c.nodes {
		for _, text := range append([]string{node.Spec.PodCIDR}, node.Spec.PodCIDRs...) {
			if p, err := netip.ParsePrefix(text); err == nil && p.Contains(address) && (found == "" || name < found) {
				found = name
			}
		}
	}
	return found
}

const (
	// dnsService and dnsLabel are those by which every cluster's name server is found.
	dnsService = "kube-dns"
	dnsLabel   = "k8s-app"
	dnsPort    = 53
)

// dnsKey names the Service of the cluster's name server.
var dnsKey = services.Key{Namespace: "kube-system", Name: dnsService}

// NameServer returns the address of the cluster's name server.
func (c *Cluster) NameServer() netip.Addr {
	if s := c.dnsService(); s != nil {
		for _, text := range services.ClusterIPs(s) {
			if address, err := netip.ParseAddr(text); err == nil {
				return address
			}
		}
	}
	return c.DNS
}

func (c *Cluster) dnsService() *corev1.Service {
	return c.Services.Service(dnsKey)
}

// zone returns what the cluster's name server knows.
func (c *Cluster) zone() *dns.Zone {
	return &dns.Zone{Domain: c.Domain, Services: &c.Services, HasNamespace: c.Policies.HasNamespace, Published: c.published}
}
