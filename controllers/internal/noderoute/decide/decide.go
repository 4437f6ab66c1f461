package decide

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/simulatedcloud"
)

// Plan holds the changes to the routes: first the deletions, then the creations, each in order.
type Plan struct {
	Delete []simulatedcloud.Route
	Create []simulatedcloud.Route
}

// Routes compares the routes of the cloud with the pod networks of the Nodes, which are sorted.
// Routes whose destination is in none of the clusters' ranges are not touched.
func Routes(nodes []*corev1.Node, routes []simulatedcloud.Route, clusters []netip.Prefix) Plan {
	var p Plan
	wanted := map[netip.Prefix]string{} // the Node of each destination
	for _, node := range nodes {
		for _, network := range networks(node) {
			if _, taken := wanted[network]; !taken {
				wanted[network] = node.Name
			}
		}
	}
	kept := Table{}
	for _, r := range routes {
		if isResponsible(&r, clusters) && (r.Blackhole || wanted[r.Destination] != r.Node || r.Node == "") {
			p.Delete = append(p.Delete, r)
			continue
		}
		kept[r.Destination] = r.Node
	}
	for _, node := range nodes {
		for _, network := range networks(node) {
			if wanted[network] == node.Name && kept[network] != node.Name {
				p.Create = append(p.Create, simulatedcloud.Route{Node: node.Name, Destination: network, Hint: string(node.UID)})
				kept[network] = node.Name
			}
		}
	}
	return p
}

// Table is the name of the Node that each destination leads to.
type Table map[netip.Prefix]string

// TableOf returns the table of routes.
func TableOf(routes []simulatedcloud.Route) Table {
	t := make(Table, len(routes))
	for _, r := range routes {
		t[r.Destination] = r.Node
	}
	return t
}

// Targets returns the names of the Nodes that routes lead to.
func (t Table) Targets() map[string]bool {
	targets := make(map[string]bool, len(t))
	for _, node := range t {
		targets[node] = true
	}
	return targets
}

// Reaches reports whether routes lead all networks of a Node to it.
func (t Table) Reaches(node *corev1.Node) bool {
	all := networks(node)
	for _, network := range all {
		if t[network] != node.Name {
			return false
		}
	}
	return len(all) > 0 && len(all) == len(node.Spec.PodCIDRs)
}

// Condition returns the condition NetworkUnavailable to write; nil if the Node has it.
func Condition(node *corev1.Node, hasRoutes bool, now metav1.Time) *corev1.NodeCondition {
	c := &corev1.NodeCondition{
		Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue,
		Reason: "NoRouteCreated", Message: "RouteController failed to create a route",
		LastHeartbeatTime: now, LastTransitionTime: now,
	}
	if hasRoutes {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "RouteCreated", "RouteController created a route"
	}
	for i := range node.Status.Conditions {
		if old := &node.Status.Conditions[i]; old.Type == c.Type && old.Status == c.Status && old.Reason == c.Reason {
			return nil
		}
	}
	return c
}

// networks are the pod networks of a Node. What is no network is left out: no route can lead to it.
func networks(node *corev1.Node) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range node.Spec.PodCIDRs {
		if p, err := netip.ParsePrefix(text); err == nil {
			all = append(all, p.Masked())
		}
	}
	return all
}

// isResponsible reports whether a route is one of the controller's: it begins or ends in a range of
// the cluster.
func isResponsible(r *simulatedcloud.Route, clusters []netip.Prefix) bool {
	return slices.ContainsFunc(clusters, func(c netip.Prefix) bool {
		return c.Contains(r.Destination.Addr()) || endsIn(r.Destination, c)
	})
}

// endsIn reports whether the last address of a range is in another one.
func endsIn(r, other netip.Prefix) bool {
	last := r.Addr().AsSlice()
	for bit := r.Bits(); bit < r.Addr().BitLen(); bit++ {
		last[bit/8] |= 1 << (7 - bit%8)
	}
	address, _ := netip.AddrFromSlice(last) // it has the length of an address
	return other.Contains(address)
}
