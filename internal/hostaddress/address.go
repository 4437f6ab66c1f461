package hostaddress

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Annotation on a Service has the address of the process that serves it: HOST:PORT, or
// PORTNAME=HOST:PORT for single ports, separated by commas. On a Pod it has the addresses of the
// processes that stand for its TCP ports, and PORTNAME is the number of a port or the name that a
// container gives it.
const Annotation = "minikcm.dev/host"

// ProbesAnnotation on a Pod, with the value SimulatedProbes, leaves its probes simulated where
// Annotation leads its ports to a process.
const (
	ProbesAnnotation = "minikcm.dev/host-probes"
	SimulatedProbes  = "simulated"
)

// MaxEntries limits the entries of an annotation, each of which costs an authorization.
const MaxEntries = 100

// Addresses are the addresses of the ports of a Service or a Pod.
type Addresses struct {
	// other is the address of the ports that named does not have; it may be empty.
	other string
	named map[string]string
}

// Parse reads the value of the annotation.
func Parse(value string) (Addresses, error) {
	parsed := Addresses{named: map[string]string{}}
	entries := strings.Split(value, ",")
	if len(entries) > MaxEntries {
		return Addresses{}, fmt.Errorf("may have at most %d addresses", MaxEntries)
	}
	for _, entry := range entries {
		name, address, isNamed := strings.Cut(strings.TrimSpace(entry), "=")
		if !isNamed {
			name, address = "", name
		}
		if err := check(address); err != nil {
			return Addresses{}, fmt.Errorf("%q: %w", address, err)
		}
		switch _, again := parsed.named[name]; {
		case !isNamed && parsed.other != "":
			return Addresses{}, errors.New("has two addresses without the name of a port")
		case !isNamed:
			parsed.other = address
		case len(validation.IsDNS1123Label(name)) > 0:
			return Addresses{}, fmt.Errorf("%q is not the name of a port", name)
		case again:
			return Addresses{}, fmt.Errorf("has two addresses for the port %q", name)
		default:
			parsed.named[name] = address
		}
	}
	return parsed, nil
}

// check returns an error unless address is HOST:PORT.
func check(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("must be HOST:PORT or PORTNAME=HOST:PORT")
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return errors.New("the port must be a number from 1 to 65535")
	}
	if net.ParseIP(host) == nil && len(validation.IsDNS1123Subdomain(host)) > 0 {
		return errors.New("the host must be an IP address or a DNS name")
	}
	return nil
}

// All returns the different addresses, sorted.
func (a Addresses) All() []string {
	var all []string
	if a.other != "" {
		all = append(all, a.other)
	}
	for _, address := range a.named {
		all = append(all, address)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Unknown returns the names that no port of the Service has, sorted.
func (a Addresses) Unknown(ports []corev1.ServicePort) []string {
	var unknown []string
	for name := range a.named {
		if !slices.ContainsFunc(ports, func(p corev1.ServicePort) bool { return p.Name == name }) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// of returns the address of a port by its name; empty if it has none.
func (a Addresses) of(port string) string {
	if address, ok := a.named[port]; ok {
		return address
	}
	return a.other
}

// Of returns the address of a Service's port; empty if the annotation does not name one. A
// Service of type ExternalName needs no ports.
func Of(service *corev1.Service, port int32) string {
	addresses, ok := read(service.Annotations)
	if !ok {
		return ""
	}
	for i := range service.Spec.Ports {
		if p := &service.Spec.Ports[i]; p.Port == port {
			return addresses.of(p.Name)
		}
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return addresses.other
	}
	return ""
}

// OfNamed returns the address of a Service's port with a name, as Of does.
func OfNamed(service *corev1.Service, name string) string {
	addresses, ok := read(service.Annotations)
	if !ok || !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == name }) {
		return ""
	}
	return addresses.of(name)
}

// OfPod returns the address that stands for a port of a pod: the one in the pod's own annotation, or
// else, of services, the Services of the pod's namespace, the address of the first one that selects
// the pod, leads out of the cluster, and has this target port.
func OfPod(services []*corev1.Service, pod *corev1.Pod, port int32) string {
	if address := OfPort(pod, port); address != "" {
		return address
	}
	for _, service := range services {
		addresses, ok := read(service.Annotations)
		if !ok || !Selects(service, pod.Labels) {
			continue
		}
		for i := range service.Spec.Ports {
			p := &service.Spec.Ports[i]
			if address := addresses.of(p.Name); port > 0 && address != "" && TargetPort(&pod.Spec, p) == port {
				return address
			}
		}
	}
	return ""
}

// Selects reports whether a Service selects pods with these labels.
func Selects(service *corev1.Service, labels map[string]string) bool {
	for key, value := range service.Spec.Selector {
		if got, ok := labels[key]; !ok || got != value {
			return false
		}
	}
	return len(service.Spec.Selector) > 0
}

// TargetPort returns the number of a Service's port in a pod; 0 if no container has a port of
// that name.
func TargetPort(spec *corev1.PodSpec, port *corev1.ServicePort) int32 {
	if port.Protocol != "" && port.Protocol != corev1.ProtocolTCP {
		return 0
	}
	target := port.TargetPort
	if target.StrVal == "" {
		if target.IntVal == 0 {
			return port.Port
		}
		return target.IntVal
	}
	for i := range spec.Containers {
		for _, p := range spec.Containers[i].Ports {
			if p.Name == target.StrVal && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP) {
				return p.ContainerPort
			}
		}
	}
	return 0
}

// OfProbe returns the address that probes of a pod's port reach; empty if they are simulated.
func OfProbe(pod *corev1.Pod, port int32) string {
	if pod.Annotations[ProbesAnnotation] == SimulatedProbes {
		return ""
	}
	return OfPort(pod, port)
}

// OfPort returns the address of the process that stands for a TCP port of a pod, by the annotation of
// the pod; empty if it does not name one.
func OfPort(pod *corev1.Pod, port int32) string {
	addresses, ok := read(pod.Annotations)
	if !ok || port <= 0 {
		return ""
	}
	if address, ok := addresses.named[strconv.Itoa(int(port))]; ok {
		return address
	}
	for name, number := range portsOf(&pod.Spec) {
		if address, ok := addresses.named[name]; ok && number == port {
			return address
		}
	}
	return addresses.other
}

// portsOf returns the numbers of the ports that the containers of a pod name.
func portsOf(spec *corev1.PodSpec) map[string]int32 {
	numbers := map[string]int32{}
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			for _, p := range containers[i].Ports {
				if p.Name != "" {
					numbers[p.Name] = p.ContainerPort
				}
			}
		}
	}
	return numbers
}

// UnknownToPod returns the names that are neither numbers nor names of the pod's ports, sorted.
func (a Addresses) UnknownToPod(spec *corev1.PodSpec) []string {
	known := portsOf(spec)
	var unknown []string
	for name := range a.named {
		if _, err := strconv.ParseUint(name, 10, 16); err == nil {
			continue
		}
		if _, ok := known[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

func read(annotations map[string]string) (Addresses, bool) {
	value, ok := annotations[Annotation]
	if !ok {
		return Addresses{}, false
	}
	addresses, err := Parse(value)
	return addresses, err == nil
}
