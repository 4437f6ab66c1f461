package services

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Key names a Service.
type Key = types.NamespacedName

// By says by which of its addresses a Service is reached.
type By string

// The addresses of Services.
const (
	ByClusterIP    By = "cluster IP"
	ByExternalIP   By = "external IP"
	ByLoadBalancer By = "load balancer"
	ByNodePort     By = "node port"
	// ByHealthCheck is no way to the endpoints: kube-proxy answers there.
	ByHealthCheck By = "health check node port"
)

// Frontend is a port of a Service at one of its addresses.
type Frontend struct {
	Service *corev1.Service
	Port    *corev1.ServicePort
	By      By
	// IPv6 is the family of the address, which is the endpoints' family, too.
	IPv6 bool
}

// Key names the Service.
func (f *Frontend) Key() Key { return Key{Namespace: f.Service.Namespace, Name: f.Service.Name} }

// Table holds the Services and EndpointSlices of a cluster. The zero value is empty. It is not safe for concurrent use.
type Table struct {
	services  map[Key]*entry
	frontends map[socket][]*Frontend
	// addresses are the Services that have an address: more than one if load balancers share it.
	addresses map[netip.Addr][]Key
	// endpoints count, for each address of an endpoint, the slices of a Service that have it.
	endpoints map[netip.Addr]map[Key]int
}

// socket is where a frontend is found. The address of a node port is the unspecified one of its family.
type socket struct {
	address  netip.Addr
	port     int32
	protocol corev1.Protocol
}

// entry is what is known of a Service: either part may be missing.
type entry struct {
	service *corev1.Service
	slices  map[string]*discoveryv1.EndpointSlice
	// sockets and addresses are where the table has the service.
	sockets   []socket
	addresses []netip.Addr
	// endpoints are computed on first use after a change.
	endpoints map[portKey][]Endpoint
}

type portKey struct {
	name     string
	protocol corev1.Protocol
	ipv6     bool
}

func (t *Table) entry(key Key) *entry {
	e := t.services[key]
	if e == nil {
		e = &entry{slices: map[string]*discoveryv1.EndpointSlice{}}
		if t.services == nil {
			t.services, t.frontends, t.addresses = map[Key]*entry{}, map[socket][]*Frontend{}, map[netip.Addr][]Key{}
		}
		t.services[key] = e
	}
	return e
}

// dropEmpty forgets a Service of which nothing is known any more.
func (t *Table) dropEmpty(key Key) {
	if e := t.services[key]; e != nil && e.service == nil && len(e.slices) == 0 {
		delete(t.services, key)
	}
}

// SetService adds or replaces a Service.
func (t *Table) SetService(s *corev1.Service) {
	key := Key{Namespace: s.Namespace, Name: s.Name}
	e := t.entry(key)
	t.remove(key, e)
	e.service = s
	for address := range addressesOf(s) {
		e.addresses = append(e.addresses, address)
		t.addresses[address] = append(t.addresses[address], key)
	}
	if OfOtherProxy(s) {
		return
	}
	for i := range s.Spec.Ports {
		port := &s.Spec.Ports[i]
		for address, by := range addressesOf(s) {
			t.add(e, socket{address, port.Port, protocolOf(port.Protocol)}, &Frontend{Service: s, Port: port, By: by, IPv6: address.Is6()})
		}
		if port.NodePort != 0 {
			for _, ipv6 := range families(s) {
				t.add(e, socket{anyAddress(ipv6), port.NodePort, protocolOf(port.Protocol)}, &Frontend{Service: s, Port: port, By: ByNodePort, IPv6: ipv6})
			}
		}
	}
	if port := s.Spec.HealthCheckNodePort; port != 0 && len(s.Spec.Ports) > 0 {
		for _, ipv6 := range families(s) {
			t.add(e, socket{anyAddress(ipv6), port, corev1.ProtocolTCP}, &Frontend{Service: s, Port: &s.Spec.Ports[0], By: ByHealthCheck, IPv6: ipv6})
		}
	}
}

// OfOtherProxy reports whether a label leaves the Service to another program than kube-proxy, which has no rules for it (KEP-2447).
func OfOtherProxy(s *corev1.Service) bool {
	_, ok := s.Labels[proxyNameLabel]
	return ok
}

const proxyNameLabel = "service.kubernetes.io/service-proxy-name"

func (t *Table) add(e *entry, at socket, f *Frontend) {
	e.sockets = append(e.sockets, at)
	list := append(t.frontends[at], f)
	// Of Services that share an address and a port, which is possible with load balancers, the first by name has it.
	slices.SortFunc(list, byName)
	t.frontends[at] = list
}

func byName(a, b *Frontend) int { return strings.Compare(a.Key().String(), b.Key().String()) }

func (t *Table) remove(key Key, e *entry) {
	for _, at := range e.sockets {
		t.frontends[at] = slices.DeleteFunc(t.frontends[at], func(f *Frontend) bool { return f.Service == e.service })
		if len(t.frontends[at]) == 0 {
			delete(t.frontends, at)
		}
	}
	for _, address := range e.addresses {
		t.addresses[address] = slices.DeleteFunc(t.addresses[address], func(k Key) bool { return k == key })
		if len(t.addresses[address]) == 0 {
			delete(t.addresses, address)
		}
	}
	e.sockets, e.addresses, e.service, e.endpoints = nil, nil, nil, nil
}

// DeleteService removes a Service.
func (t *Table) DeleteService(key Key) {
	if e := t.services[key]; e != nil {
		t.remove(key, e)
		t.dropEmpty(key)
	}
}

// SetSlice adds or replaces an EndpointSlice. One without a Service's name has no effect.
func (t *Table) SetSlice(s *discoveryv1.EndpointSlice) {
	if name := s.Labels[discoveryv1.LabelServiceName]; name != "" {
		key := Key{Namespace: s.Namespace, Name: name}
		e := t.entry(key)
		t.count(key, e.slices[s.Name], -1)
		t.count(key, s, 1)
		e.slices[s.Name] = s
		e.endpoints = nil
	}
}

// DeleteSlice removes an EndpointSlice, as it was last set.
func (t *Table) DeleteSlice(s *discoveryv1.EndpointSlice) {
	key := Key{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}
	if e := t.services[key]; e != nil {
		t.count(key, e.slices[s.Name], -1)
		delete(e.slices, s.Name)
		e.endpoints = nil
		t.dropEmpty(key)
	}
}

// count adds n for each address in a slice, which may be nil.
func (t *Table) count(key Key, s *discoveryv1.EndpointSlice, n int) {
	if s == nil {
		return
	}
	for i := range s.Endpoints {
		for _, text := range s.Endpoints[i].Addresses {
			address, err := netip.ParseAddr(text)
			if err != nil {
				continue
			}
			if t.endpoints == nil {
				t.endpoints = map[netip.Addr]map[Key]int{}
			}
			if t.endpoints[address] == nil {
				t.endpoints[address] = map[Key]int{}
			}
			if t.endpoints[address][key] += n; t.endpoints[address][key] == 0 {
				delete(t.endpoints[address], key)
			}
			if len(t.endpoints[address]) == 0 {
				delete(t.endpoints, address)
			}
		}
	}
}

// WithEndpoint returns the Services that have an endpoint with the address, sorted by name.
func (t *Table) WithEndpoint(address netip.Addr) []Key {
	return slices.SortedFunc(maps.Keys(t.endpoints[address.Unmap()]), func(a, b Key) int { return strings.Compare(a.String(), b.String()) })
}

// Service returns a Service; nil if there is none.
func (t *Table) Service(key Key) *corev1.Service {
	if e := t.services[key]; e != nil {
		return e.service
	}
	return nil
}

// Slices returns the EndpointSlices of a Service, sorted by name.
func (t *Table) Slices(key Key) []*discoveryv1.EndpointSlice {
	e := t.services[key]
	if e == nil {
		return nil
	}
	return e.sortedSlices()
}

func (e *entry) sortedSlices() []*discoveryv1.EndpointSlice {
	list := make([]*discoveryv1.EndpointSlice, 0, len(e.slices))
	for _, s := range e.slices {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *discoveryv1.EndpointSlice) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Find returns the port of a Service that is reached at an address other than a node's; nil if there is none.
func (t *Table) Find(address netip.Addr, port int32, protocol corev1.Protocol) *Frontend {
	return t.at(socket{address.Unmap(), port, protocol})
}

// FindNodePort returns the Service that is reached at a port of every node; nil if there is none.
func (t *Table) FindNodePort(ipv6 bool, port int32, protocol corev1.Protocol) *Frontend {
	return t.at(socket{anyAddress(ipv6), port, protocol})
}

func (t *Table) at(s socket) *Frontend {
	if list := t.frontends[s]; len(list) > 0 {
		return list[0]
	}
	return nil
}

// Owner returns the Service that has an address, whatever its ports; ok is false if none has.
func (t *Table) Owner(address netip.Addr) (owner Key, ok bool) {
	return first(t.addresses[address.Unmap()])
}

// first returns the first Service by name; ok is false if there is none.
func first(list []Key) (key Key, ok bool) {
	if len(list) == 0 {
		return Key{}, false
	}
	return slices.MinFunc(list, func(a, b Key) int { return strings.Compare(a.String(), b.String()) }), true
}

func protocolOf(p corev1.Protocol) corev1.Protocol { return cmp.Or(p, corev1.ProtocolTCP) }

func anyAddress(ipv6 bool) netip.Addr {
	if ipv6 {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// addressesOf returns the addresses at which nodes translate connections to the Service.
func addressesOf(s *corev1.Service) map[netip.Addr]By {
	of := map[netip.Addr]By{}
	add := func(text string, by By) {
		if address, err := netip.ParseAddr(text); err == nil {
			of[address.Unmap()] = by
		}
	}
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
		for _, given := range s.Status.LoadBalancer.Ingress {
			if given.IPMode == nil || *given.IPMode == corev1.LoadBalancerIPModeVIP {
				add(given.IP, ByLoadBalancer)
			}
		}
	}
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return of
	}
	for _, text := range s.Spec.ExternalIPs {
		add(text, ByExternalIP)
	}
	for _, text := range ClusterIPs(s) {
		add(text, ByClusterIP)
	}
	return of
}

// ClusterIPs returns the cluster IPs of a Service; none if it is headless.
func ClusterIPs(s *corev1.Service) []string {
	list := s.Spec.ClusterIPs
	if len(list) == 0 && s.Spec.ClusterIP != "" {
		list = []string{s.Spec.ClusterIP}
	}
	if s.Spec.Type == corev1.ServiceTypeExternalName || len(list) > 0 && list[0] == corev1.ClusterIPNone {
		return nil
	}
	return list
}

// families returns the families of the Service, as whether each is IPv6.
func families(s *corev1.Service) []bool {
	var list []bool
	for _, text := range ClusterIPs(s) {
		if address, err := netip.ParseAddr(text); err == nil {
			list = append(list, address.Is6())
		}
	}
	return list
}
