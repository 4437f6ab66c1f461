package serviceip

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// write is one write of a Service on its way to the store.
type write struct {
	*Allocator
	owner types.UID
	// before is what the Service had, after what it is to have: held until done.
	before, after keys
}

// done is what Allocate returns.
func (w *write) done(stored bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.abandon()
	if !stored {
		return
	}
	for ip := range w.before.ips {
		w.used.forget(ip, w.owner)
	}
	for port := range w.before.ports {
		w.ports.forget(port, w.owner)
	}
	w.remember(w.after, w.owner)
}

// abandon ends the holds of this write.
func (w *write) abandon() {
	for ip := range w.after.ips {
		w.used.drop(ip)
	}
	for port := range w.after.ports {
		w.ports.drop(port)
	}
}

// fill gives svc what it lacks, and holds all that it then has.
func (w *write) fill(svc *corev1.Service) error {
	w.after = keys{ips: map[netip.Addr]bool{}, ports: map[int32]bool{}}
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	if err := w.fillFamilies(&svc.Spec); err != nil {
		return err
	}
	if err := w.fillAddress(&svc.Spec); err != nil {
		return err
	}
	return w.fillPorts(&svc.Spec)
}

// fillFamilies sets what follows from the cluster having IPv4 only. A headless
// Service without selector is somebody else's to fill, and may have both families
// (Kubernetes documentation, "IPv4/IPv6 dual-stack").
func (w *write) fillFamilies(spec *corev1.ServiceSpec) error {
	p := field.NewPath("spec")
	if spec.ClusterIP == corev1.ClusterIPNone && len(spec.Selector) == 0 {
		if spec.IPFamilyPolicy == nil {
			spec.IPFamilyPolicy = pointer(corev1.IPFamilyPolicyRequireDualStack)
		}
		if len(spec.IPFamilies) == 0 {
			spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
		}
		if len(spec.IPFamilies) == 1 && *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
			spec.IPFamilies = append(spec.IPFamilies, other(spec.IPFamilies[0]))
		}
		return nil
	}
	if spec.IPFamilyPolicy == nil {
		spec.IPFamilyPolicy = pointer(corev1.IPFamilyPolicySingleStack)
	}
	if *spec.IPFamilyPolicy == corev1.IPFamilyPolicyRequireDualStack {
		return field.Invalid(p.Child("ipFamilyPolicy"), *spec.IPFamilyPolicy, "this cluster is not configured for dual-stack services")
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	for i, family := range spec.IPFamilies {
		if family != corev1.IPv4Protocol {
			return field.Invalid(p.Child("ipFamilies").Index(i), family, "not configured on this cluster")
		}
	}
	return nil
}

func other(family corev1.IPFamily) corev1.IPFamily {
	if family == corev1.IPv4Protocol {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}

func pointer[T any](v T) *T { return &v }

func (w *write) fillAddress(spec *corev1.ServiceSpec) error {
	switch {
	case spec.ClusterIP == corev1.ClusterIPNone:
		return nil
	case len(spec.ClusterIPs) > 0:
		return w.takeAddresses(spec)
	}
	i, ok := pick(w.ips.size(), staticAddresses(w.ips.size()), w.config.Random.IntN, func(i int) bool { return w.used.unused(w.ips.at(i)) })
	if !ok {
		return fullError{"serviceIP"}
	}
	ip := w.ips.at(i)
	w.holdAddress(ip)
	spec.ClusterIP, spec.ClusterIPs = ip.String(), []string{ip.String()}
	return nil
}

// takeAddresses holds the addresses that the client asks for.
func (w *write) takeAddresses(spec *corev1.ServiceSpec) error {
	wrong := func(ip, why string) *field.Error {
		return field.Invalid(field.NewPath("spec", "clusterIPs"), slices.Clone(spec.ClusterIPs), fmt.Sprintf("failed to allocate IP %s: %s", ip, why))
	}
	for _, text := range spec.ClusterIPs {
		ip, err := netip.ParseAddr(text)
		switch {
		case w.before.ips[ip] && err == nil:
		case err != nil || !w.ips.contains(ip):
			return wrong(text, fmt.Sprintf("the provided IP (%s) is not in the valid range. The range of valid IPs is %s", text, w.config.ClusterIPs.Masked()))
		case !w.used.free(ip, w.owner):
			return takenError{wrong(text, "provided IP is already allocated")}
		}
		w.holdAddress(ip)
	}
	return nil
}

func (w *write) holdAddress(ip netip.Addr) {
	if !w.after.ips[ip] {
		w.after.ips[ip] = true
		w.used.hold(ip, w.owner)
	}
}

func (w *write) fillPorts(spec *corev1.ServiceSpec) error {
	balanced := spec.Type == corev1.ServiceTypeLoadBalancer
	if !balanced && spec.Type != corev1.ServiceTypeNodePort {
		return nil
	}
	p := field.NewPath("spec", "ports")
	for i := range spec.Ports {
		if number := spec.Ports[i].NodePort; number != 0 {
			if err := w.takePort(p.Index(i).Child("nodePort"), number); err != nil {
				return err
			}
		}
	}
	if !balanced || spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts {
		if err := w.fillNodePorts(spec.Ports); err != nil {
			return err
		}
	}
	if !balanced || spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		return nil
	}
	if spec.HealthCheckNodePort != 0 {
		return w.takePort(field.NewPath("spec", "healthCheckNodePort"), spec.HealthCheckNodePort)
	}
	var err error
	spec.HealthCheckNodePort, err = w.newPort()
	return err
}

// fillNodePorts gives every port a node port. Ports that differ only in their
// protocol share one.
func (w *write) fillNodePorts(ports []corev1.ServicePort) error {
	type use struct {
		protocol corev1.Protocol
		nodePort int32
	}
	shared, taken := map[int32]int32{}, map[use]bool{}
	for _, port := range ports {
		if port.NodePort != 0 {
			shared[port.Port] = port.NodePort
			taken[use{port.Protocol, port.NodePort}] = true
		}
	}
	for i := range ports {
		port := &ports[i]
		if port.NodePort != 0 {
			continue
		}
		number := shared[port.Port]
		if number == 0 || taken[use{port.Protocol, number}] {
			var err error
			if number, err = w.newPort(); err != nil {
				return err
			}
		}
		port.NodePort = number
		shared[port.Port] = number
		taken[use{port.Protocol, number}] = true
	}
	return nil
}

// newPort holds any port that is free.
func (w *write) newPort() (int32, error) {
	r := w.config.NodePorts
	i, ok := pick(r.size(), staticPorts(r.size()), w.config.Random.IntN, func(i int) bool { return w.ports.unused(r.at(i)) })
	if !ok {
		return 0, fullError{"nodePort"}
	}
	w.holdPort(r.at(i))
	return r.at(i), nil
}

// takePort holds the port that the client asks for.
func (w *write) takePort(p *field.Path, number int32) error {
	r := w.config.NodePorts
	switch {
	case w.before.ports[number]:
	case !r.contains(number):
		return field.Invalid(p, number, fmt.Sprintf("provided port is not in the valid range. The range of valid ports is %d-%d", r.First, r.Last))
	case !w.ports.free(number, w.owner):
		return takenError{field.Invalid(p, number, "provided port is already allocated")}
	}
	w.holdPort(number)
	return nil
}

func (w *write) holdPort(number int32) {
	if !w.after.ports[number] {
		w.after.ports[number] = true
		w.ports.hold(number, w.owner)
	}
}
