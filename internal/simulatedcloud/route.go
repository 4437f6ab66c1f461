package simulatedcloud

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The keys of a route's ConfigMap.
const (
	keyDestination = "destinationCIDR"
	keyNode        = "node"
	keyHint        = "hint"
)

// Quotas is the name of the ConfigMap with the cloud's quotas, and quotaRoutes its key for the
// number of routes.
const (
	Quotas      = "quotas"
	quotaRoutes = "routes"
)

// Route leads a range of pod addresses to a node. Destination is its key: there is one route of a
// destination.
type Route struct {
	Name        string
	Node        string
	Destination netip.Prefix
	// Hint is the mark by which its creator recognizes it: the UID of the Node.
	Hint string
	// Blackhole means that the instance of the node is gone.
	Blackhole bool
}

// RouteName returns the name of the route of a destination.
func RouteName(destination netip.Prefix) string {
	return "route-" + strings.NewReplacer(".", "-", ":", "-", "/", "-").Replace(destination.String())
}

// ConfigMap returns the ConfigMap of the route.
func (r *Route) ConfigMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: RouteName(r.Destination), Labels: map[string]string{Label: labelRoute}},
		Data:       map[string]string{keyDestination: r.Destination.String(), keyNode: r.Node, keyHint: r.Hint},
	}
}

// RouteOf reads a route; false if the ConfigMap is none.
func RouteOf(c *corev1.ConfigMap) (Route, bool) {
	destination, err := netip.ParsePrefix(c.Data[keyDestination])
	if c.Namespace != Namespace || c.Labels[Label] != labelRoute || err != nil {
		return Route{}, false
	}
	return Route{Name: c.Name, Node: c.Data[keyNode], Destination: destination.Masked(), Hint: c.Data[keyHint]}, true
}

// Inventory lists the instances and routes of the cloud.
type Inventory struct {
	// Instances are by name.
	Instances map[string]Instance
	Routes    []Route
	// MaxRoutes is the quota of routes; negative: there is none.
	MaxRoutes int
}

// InventoryOf reads the ConfigMaps of the cloud's namespace.
func InventoryOf(maps []*corev1.ConfigMap) Inventory {
	v := Inventory{Instances: map[string]Instance{}, MaxRoutes: -1}
	for _, c := range maps {
		if i, ok := InstanceOf(c); ok {
			v.Instances[i.Name] = i
		} else if r, ok := RouteOf(c); ok {
			v.Routes = append(v.Routes, r)
		} else if c.Namespace == Namespace && c.Name == Quotas {
			if n, err := strconv.Atoi(c.Data[quotaRoutes]); err == nil {
				v.MaxRoutes = n
			}
		}
	}
	for i := range v.Routes {
		_, there := v.Instances[v.Routes[i].Node]
		v.Routes[i].Blackhole = !there
	}
	return v
}

// CheckRoute returns why the cloud refuses to create a route; nil if it does not.
func (v *Inventory) CheckRoute(r *Route) error {
	if _, there := v.Instances[r.Node]; !there {
		return fmt.Errorf("InvalidInstanceID.NotFound: the instance %s does not exist", r.Node)
	}
	for i := range v.Routes {
		if v.Routes[i].Destination == r.Destination {
			return fmt.Errorf("RouteAlreadyExists: %s leads to %s", r.Destination, v.Routes[i].Node)
		}
	}
	if v.MaxRoutes >= 0 && len(v.Routes) >= v.MaxRoutes {
		return fmt.Errorf("RouteLimitExceeded: the quota is %d routes (ConfigMap %s/%s)", v.MaxRoutes, Namespace, Quotas)
	}
	return nil
}
