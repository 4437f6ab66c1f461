package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// identity identifies an address: several pods can have the same IP address.
type identity struct {
	ip  string
	uid types.UID
}

func identityOf(a *corev1.EndpointAddress) identity {
	id := identity{ip: a.IP}
	if a.TargetRef != nil {
		id.uid = a.TargetRef.UID
	}
	return id
}

// group is a set of addresses that serve the same ports, with their readiness.
type group struct {
	ports     []corev1.EndpointPort
	addresses []address
}

type address struct {
	*corev1.EndpointAddress
	ready bool
}

// canonical returns the equivalent subsets with the fewest groups: it groups the ports that
// the same addresses serve with the same readiness, wherever they were listed. An address
// that a port lists both as ready and as not ready is not ready. The order depends on the
// contents only; ready addresses come first.
func canonical(subsets []corev1.EndpointSubset) []group {
	serving := newServing()
	for i := range subsets {
		subset := &subsets[i]
		ports := subset.Ports
		if len(ports) == 0 {
			ports = []corev1.EndpointPort{{Port: noPort}}
		}
		for _, port := range ports {
			serving.add(port, subset.Addresses, true)
			serving.add(port, subset.NotReadyAddresses, false)
		}
	}
	return serving.groups()
}

// noPort represents the port of a subset without ports.
const noPort = -1

// serving records which addresses serve which ports.
type serving struct {
	known map[identity]*corev1.EndpointAddress
	ports map[string]corev1.EndpointPort
	by    map[string]map[identity]bool
}

func newServing() *serving {
	return &serving{
		known: map[identity]*corev1.EndpointAddress{},
		ports: map[string]corev1.EndpointPort{},
		by:    map[string]map[identity]bool{},
	}
}

func (s *serving) add(port corev1.EndpointPort, addresses []corev1.EndpointAddress, ready bool) {
	key := portKey(port)
	if s.by[key] == nil {
		s.by[key] = map[identity]bool{}
		s.ports[key] = port
	}
	for i := range addresses {
		id := identityOf(&addresses[i])
		if s.known[id] == nil {
			s.known[id] = &addresses[i]
		}
		was, known := s.by[key][id]
		s.by[key][id] = ready && (was || !known)
	}
}

func portKey(p corev1.EndpointPort) string {
	application := ""
	if p.AppProtocol != nil {
		application = *p.AppProtocol
	}
	return fmt.Sprintf("%q %d %s %t %q", p.Name, p.Port, p.Protocol, p.AppProtocol != nil, application)
}

func (s *serving) groups() []group {
	made := map[string]*group{}
	var order []string
	for _, key := range sortedKeys(s.by) {
		addresses, name := s.addressesOf(key)
		g := made[name]
		if g == nil {
			g = &group{addresses: addresses}
			made[name] = g
			order = append(order, name)
		}
		if port := s.ports[key]; port.Port != noPort {
			g.ports = append(g.ports, port)
		}
	}
	all := make([]group, 0, len(order))
	for _, name := range order {
		all = append(all, *made[name])
	}
	return all
}

// addressesOf returns the addresses that serve a port, and a text that is equal for two
// ports if their addresses are equal.
func (s *serving) addressesOf(port string) ([]address, string) {
	addresses := make([]address, 0, len(s.by[port]))
	for id, ready := range s.by[port] {
		addresses = append(addresses, address{s.known[id], ready})
	}
	slices.SortFunc(addresses, func(a, b address) int {
		x, y := identityOf(a.EndpointAddress), identityOf(b.EndpointAddress)
		return cmp.Or(compareBools(b.ready, a.ready), cmp.Compare(x.ip, y.ip), cmp.Compare(x.uid, y.uid))
	})
	var name strings.Builder
	for _, a := range addresses {
		fmt.Fprintf(&name, "%s %s %t,", a.IP, identityOf(a.EndpointAddress).uid, a.ready)
	}
	return addresses, name.String()
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
