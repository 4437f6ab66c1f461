package services

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Endpoint is one endpoint of a Service's port.
type Endpoint struct {
	Address netip.AddrPort
	// Node is the node that it is on; empty if unknown.
	Node                        string
	Ready, Serving, Terminating bool
	// Pod is the name of the pod that it is, in the Service's namespace; empty if it is none.
	Pod string

	zones, nodes []string
	// unproxied means that kube-proxy ignores the EndpointSlice: it has the label of headless Services.
	unproxied bool
}

func (e *Endpoint) leaving() bool { return e.Serving && e.Terminating }

// ReadyEndpoints returns the endpoints of a frontend that are ready, sorted by address. The list must not be changed.
func (t *Table) ReadyEndpoints(f *Frontend) []Endpoint {
	return selected(t.Endpoints(f), func(e *Endpoint) bool { return e.Ready })
}

// Endpoints returns the endpoints of a frontend, sorted by address.
func (t *Table) Endpoints(f *Frontend) []Endpoint {
	e := t.services[f.Key()]
	if e == nil {
		return nil
	}
	key := portKey{f.Port.Name, protocolOf(f.Port.Protocol), f.IPv6}
	if list, ok := e.endpoints[key]; ok {
		return list
	}
	list := e.compile(key)
	if e.endpoints == nil {
		e.endpoints = map[portKey][]Endpoint{}
	}
	e.endpoints[key] = list
	return list
}

func (e *entry) compile(key portKey) []Endpoint {
	var list []Endpoint
	for _, s := range e.sortedSlices() {
		if (s.AddressType == discoveryv1.AddressTypeIPv6) != key.ipv6 || s.AddressType == discoveryv1.AddressTypeFQDN {
			continue
		}
		number := portOf(s, key)
		if number == 0 {
			continue
		}
		_, unproxied := s.Labels[corev1.IsHeadlessService]
		for i := range s.Endpoints {
			if made, ok := endpoint(&s.Endpoints[i], number); ok {
				made.unproxied = unproxied
				list = append(list, made)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Endpoint) int { return a.Address.Compare(b.Address) })
	return slices.CompactFunc(list, func(a, b Endpoint) bool { return a.Address == b.Address })
}

// portOf returns the number of a Service's port in a slice; 0 if the slice does not have it.
func portOf(s *discoveryv1.EndpointSlice, key portKey) uint16 {
	for _, p := range s.Ports {
		name, protocol := "", corev1.ProtocolTCP
		if p.Name != nil {
			name = *p.Name
		}
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		if name == key.name && protocol == key.protocol && p.Port != nil {
			return uint16(*p.Port)
		}
	}
	return 0
}

func endpoint(e *discoveryv1.Endpoint, port uint16) (Endpoint, bool) {
	if len(e.Addresses) == 0 {
		return Endpoint{}, false
	}
	address, err := netip.ParseAddr(e.Addresses[0])
	if err != nil {
		return Endpoint{}, false
	}
	made := Endpoint{Address: netip.AddrPortFrom(address, port)}
	made.Ready = e.Conditions.Ready == nil || *e.Conditions.Ready
	made.Serving = made.Ready
	if e.Conditions.Serving != nil {
		made.Serving = *e.Conditions.Serving
	}
	made.Terminating = e.Conditions.Terminating != nil && *e.Conditions.Terminating
	if e.NodeName != nil {
		made.Node = *e.NodeName
	}
	if e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
		made.Pod = e.TargetRef.Name
	}
	if e.Hints != nil {
		for _, zone := range e.Hints.ForZones {
			made.zones = append(made.zones, zone.Name)
		}
		for _, node := range e.Hints.ForNodes {
			made.nodes = append(made.nodes, node.Name)
		}
	}
	return made, true
}
