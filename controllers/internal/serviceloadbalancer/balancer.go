package serviceloadbalancer

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// balancer is the simulated cloud: the load balancers of this process and their addresses.
type balancer struct {
	// network has the IPv4 addresses; not valid: the default.
	network netip.Prefix

	mu     sync.Mutex
	owners map[netip.Addr]types.UID
	// balanced holds the load balancers by the UID of their Service.
	balanced map[types.UID]*balanced
}

// balanced is one load balancer.
type balanced struct {
	addresses []netip.Addr
	// service is the Service for which it was last configured, and nodes are its targets at
	// that time.
	service *corev1.Service
	nodes   string
}

func newBalancer(network netip.Prefix) *balancer {
	return &balancer{network: network, owners: map[netip.Addr]types.UID{}, balanced: map[types.UID]*balanced{}}
}

// adopt records the addresses that an earlier process has assigned to a Service, unless they are to be of a certain network.
func (b *balancer) adopt(service *corev1.Service) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.balanced[service.UID] != nil {
		return
	}
	var addresses []netip.Addr
	for _, point := range service.Status.LoadBalancer.Ingress {
		ip, err := netip.ParseAddr(point.IP)
		if err != nil || b.owners[ip] != "" || b.network.IsValid() && ip.Is4() && !b.network.Contains(ip) && service.Spec.LoadBalancerIP != point.IP {
			return
		}
		addresses = append(addresses, ip)
	}
	if len(addresses) > 0 && hasFinalizer(service) {
		b.own(service, addresses)
	}
}

func (b *balancer) own(service *corev1.Service, addresses []netip.Addr) {
	for _, ip := range addresses {
		b.owners[ip] = service.UID
	}
	b.balanced[service.UID] = &balanced{addresses: addresses}
}

// last returns the Service for which the load balancer was last configured, and its nodes;
// nil if there is none.
func (b *balancer) last(uid types.UID) (service *corev1.Service, nodes string, exists bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	lb := b.balanced[uid]
	if lb == nil {
		return nil, "", false
	}
	return lb.service, lb.nodes, true
}

// services returns the keys of the Services that have load balancers.
func (b *balancer) services() []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	var keys []types.NamespacedName
	for _, lb := range b.balanced {
		if lb.service != nil {
			keys = append(keys, types.NamespacedName{Namespace: lb.service.Namespace, Name: lb.service.Name})
		}
	}
	return keys
}

// ensure assigns the wanted addresses to the Service's load balancer, and returns them.
func (b *balancer) ensure(service *corev1.Service) ([]netip.Addr, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	wanted, err := b.wantedLocked(service)
	if err != nil {
		return nil, err
	}
	b.dropLocked(service.UID)
	b.own(service, wanted)
	return wanted, nil
}

// done records the Service and the nodes for which a load balancer was configured.
func (b *balancer) done(service *corev1.Service, nodes string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if lb := b.balanced[service.UID]; lb != nil {
		lb.service, lb.nodes = service, nodes
	}
}

// remove deletes the load balancer.
func (b *balancer) remove(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropLocked(uid)
}

func (b *balancer) dropLocked(uid types.UID) {
	lb := b.balanced[uid]
	if lb == nil {
		return
	}
	for _, ip := range lb.addresses {
		delete(b.owners, ip)
	}
	delete(b.balanced, uid)
}

// wantedLocked returns the addresses that a load balancer should have. It keeps its present
// addresses where possible.
func (b *balancer) wantedLocked(service *corev1.Service) ([]netip.Addr, error) {
	asked, err := b.askedLocked(service)
	if err != nil {
		return nil, err
	}
	var wanted []netip.Addr
	for _, family := range familiesOf(service) {
		ip, ok := b.ofFamily(service.UID, family)
		if asked.IsValid() && asked.Is4() == (family == corev1.IPv4Protocol) {
			ip, ok = asked, true
		}
		if !ok {
			ip = b.freeLocked(service, family)
		}
		wanted = append(wanted, ip)
	}
	return wanted, nil
}

func familiesOf(service *corev1.Service) []corev1.IPFamily {
	if len(service.Spec.IPFamilies) == 0 {
		return []corev1.IPFamily{corev1.IPv4Protocol}
	}
	return service.Spec.IPFamilies
}

// askedLocked parses spec.loadBalancerIP.
func (b *balancer) askedLocked(service *corev1.Service) (netip.Addr, error) {
	text := service.Spec.LoadBalancerIP
	if text == "" {
		return netip.Addr{}, nil
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return ip, fmt.Errorf("the requested address %q is not an IP address", text)
	}
	if owner := b.owners[ip]; owner != "" && owner != service.UID {
		return ip, fmt.Errorf("the requested address %s is in use by another load balancer", ip)
	}
	return ip, nil
}

func (b *balancer) ofFamily(uid types.UID, family corev1.IPFamily) (netip.Addr, bool) {
	if lb := b.balanced[uid]; lb != nil {
		for _, ip := range lb.addresses {
			if ip.Is4() == (family == corev1.IPv4Protocol) {
				return ip, true
			}
		}
	}
	return netip.Addr{}, false
}

// defaultNetwork is a network for tests of network devices, and network6 one for documentation: neither is in use anywhere.
var (
	defaultNetwork = netip.MustParsePrefix("198.18.0.0/15")
	network6       = netip.MustParsePrefix("2001:db8::/111")
)

// networkOf returns the network that addresses of a family are from. A cluster has fewer Services than these have addresses.
func (b *balancer) networkOf(family corev1.IPFamily) netip.Prefix {
	switch {
	case family != corev1.IPv4Protocol:
		return network6
	case b.network.IsValid():
		return b.network
	}
	return defaultNetwork
}

// freeLocked returns an address that no load balancer has.
func (b *balancer) freeLocked(service *corev1.Service, family corev1.IPFamily) netip.Addr {
	network := b.networkOf(family)
	usable := uint32(1)<<(network.Addr().BitLen()-network.Bits()) - 2 // without the first and the last
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s/%s", service.Namespace, service.Name) // a write to a hash never fails
	for i := h.Sum32() % usable; ; i = (i + 1) % usable {
		if ip := addressAt(network, i+1); b.owners[ip] == "" {
			return ip
		}
	}
}

// addressAt returns an address of a network that begins with a multiple of its size.
func addressAt(network netip.Prefix, i uint32) netip.Addr {
	bytes := network.Addr().AsSlice()
	last := bytes[len(bytes)-4:]
	binary.BigEndian.PutUint32(last, binary.BigEndian.Uint32(last)+i)
	ip, _ := netip.AddrFromSlice(bytes)
	return ip
}
