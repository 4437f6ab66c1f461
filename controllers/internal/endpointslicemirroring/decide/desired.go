package decide

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	endpointsliceutil "k8s.io/endpointslice/util"
	utilnet "k8s.io/utils/net"
)

// ManagedBy is the value of the label endpointslice.kubernetes.io/managed-by on the
// controller's slices.
const ManagedBy = "endpointslicemirroring-controller.k8s.io"

// Kind is the kind of the slices' owners.
var Kind = corev1.SchemeGroupVersion.WithKind("Endpoints")

// maxPerSubset caps the mirrored addresses of one subset; upstream's default.
const maxPerSubset = 1000

// sliceKey identifies one of the slices of an Endpoints object.
type sliceKey struct {
	family discoveryv1.AddressType
	ports  endpointsliceutil.PortMapKey
}

func keyOf(family discoveryv1.AddressType, ports []discoveryv1.EndpointPort) sliceKey {
	// NewPortMapKey sorts its argument.
	return sliceKey{family, endpointsliceutil.NewPortMapKey(slices.Clone(ports))}
}

// desired is the wanted contents of the slices of an Endpoints object.
type desired struct {
	order []sliceKey
	by    map[sliceKey]*content
	// invalid counts the addresses that are not IP addresses, and skipped all that are not
	// mirrored.
	invalid, skipped int
}

type content struct {
	ports     []discoveryv1.EndpointPort
	endpoints []discoveryv1.Endpoint
	// set holds the same endpoints for look-ups.
	set endpointsliceutil.EndpointSet
}

func desiredOf(endpoints *corev1.Endpoints) *desired {
	d := &desired{by: map[sliceKey]*content{}}
	for _, g := range canonical(endpoints.Subsets) {
		ports := slicePorts(g.ports)
		mirrored := 0
		for _, a := range g.addresses {
			if mirrored == maxPerSubset {
				break
			}
			endpoint, family, ok := endpointOf(a)
			if !ok {
				d.invalid++
				continue
			}
			d.add(keyOf(family, ports), ports, endpoint)
			mirrored++
		}
		d.skipped += len(g.addresses) - mirrored
	}
	return d
}

func (d *desired) add(key sliceKey, ports []discoveryv1.EndpointPort, endpoint discoveryv1.Endpoint) {
	c := d.by[key]
	if c == nil {
		c = &content{ports: ports, set: endpointsliceutil.EndpointSet{}}
		d.by[key] = c
		d.order = append(d.order, key)
	}
	if c.set.Has(&endpoint) {
		return
	}
	c.set.Insert(&endpoint)
	c.endpoints = append(c.endpoints, endpoint)
}

// shownBy reports whether the slice lists these endpoints, in any order.
func (c *content) shownBy(slice *discoveryv1.EndpointSlice) bool {
	if len(slice.Endpoints) != len(c.endpoints) {
		return false
	}
	for i := range slice.Endpoints {
		// Get sorts the addresses of its argument.
		shown := slice.Endpoints[i]
		shown.Addresses = slices.Clone(shown.Addresses)
		wanted := c.set.Get(&shown)
		if wanted == nil || !endpointsliceutil.EndpointsEqualBeyondHash(wanted, &shown) {
			return false
		}
	}
	return true
}

func slicePorts(ports []corev1.EndpointPort) []discoveryv1.EndpointPort {
	made := []discoveryv1.EndpointPort{}
	for _, p := range ports {
		made = append(made, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port, Protocol: &p.Protocol, AppProtocol: p.AppProtocol})
	}
	return made
}

// endpointOf converts an address; false if it is not an IP address.
func endpointOf(a address) (discoveryv1.Endpoint, discoveryv1.AddressType, bool) {
	ip := utilnet.ParseIPSloppy(a.IP)
	parsed, ok := netip.AddrFromSlice(ip)
	if !ok {
		return discoveryv1.Endpoint{}, "", false
	}
	family := discoveryv1.AddressTypeIPv6
	if parsed.Unmap().Is4() {
		family = discoveryv1.AddressTypeIPv4
	}
	endpoint := discoveryv1.Endpoint{
		// Slices require the canonical form of addresses, Endpoints do not.
		Addresses:  []string{ip.String()},
		Conditions: discoveryv1.EndpointConditions{Ready: &a.ready},
		TargetRef:  a.TargetRef,
		NodeName:   a.NodeName,
	}
	if a.Hostname != "" {
		endpoint.Hostname = &a.Hostname
	}
	return endpoint, family, true
}

// metadata returns the metadata of every slice of the object, without a name.
func metadata(endpoints *corev1.Endpoints) metav1.ObjectMeta {
	labels, annotations := map[string]string{}, map[string]string{}
	for k, v := range endpoints.Labels {
		labels[k] = v
	}
	labels[discoveryv1.LabelServiceName] = endpoints.Name
	labels[discoveryv1.LabelManagedBy] = ManagedBy
	for k, v := range endpoints.Annotations {
		if k != corev1.EndpointsLastChangeTriggerTime && k != corev1.LastAppliedConfigAnnotation {
			annotations[k] = v
		}
	}
	return metav1.ObjectMeta{
		Namespace: endpoints.Namespace, Labels: labels, Annotations: annotations,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(endpoints, Kind)},
	}
}

// namePrefix returns the generateName of a new slice.
func namePrefix(service string) string {
	const longest = 253 // a DNS subdomain; the apiserver truncates generated names
	if len(service) >= longest {
		return service
	}
	return service + "-"
}
