package runner

import (
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/internal/hostaddress"
)

// addressesOf returns the value of the annotation that leads a Service to the command: each port
// whose target is a port of the template leads to the same port of this machine, or to that in
// ports. It is empty for a Service that does not select the template's pods.
func addressesOf(service *corev1.Service, template *corev1.PodTemplateSpec, ports map[int32]int32) string {
	if !hostaddress.Selects(service, template.Labels) {
		return ""
	}
	var entries []string
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		target := hostaddress.TargetPort(&template.Spec, port)
		if target == 0 {
			continue
		}
		entry := addressOf(target, ports)
		if port.Name != "" {
			entry = port.Name + "=" + entry
		}
		entries = append(entries, entry)
	}
	return strings.Join(entries, ",")
}

// addressOf returns where the command listens in place of the container's port.
func addressOf(port int32, ports map[int32]int32) string {
	if other, ok := ports[port]; ok {
		port = other
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))
}

// probeAddresses returns the value of the annotation that leads the probes of a container to the
// command: each port that they ask leads to the same port of this machine, or to that in ports.
// It is empty for a container whose probes ask no port.
func probeAddresses(spec *corev1.PodSpec, container string, ports map[int32]int32) string {
	c := containerOf(&corev1.PodTemplateSpec{Spec: *spec}, container)
	if c == nil {
		return ""
	}
	var asked []int32
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		switch {
		case probe == nil:
		case probe.HTTPGet != nil:
			asked = append(asked, numberOf(c, probe.HTTPGet.Port))
		case probe.TCPSocket != nil:
			asked = append(asked, numberOf(c, probe.TCPSocket.Port))
		case probe.GRPC != nil:
			asked = append(asked, probe.GRPC.Port)
		}
	}
	slices.Sort(asked)
	var entries []string
	for _, port := range slices.Compact(asked) {
		if port > 0 {
			entries = append(entries, strconv.Itoa(int(port))+"="+addressOf(port, ports))
		}
	}
	return strings.Join(entries, ",")
}

// numberOf returns the number of a port that may be the name of one of the container's; 0 if it
// has none of that name.
func numberOf(c *corev1.Container, port intstr.IntOrString) int32 {
	if port.Type == intstr.Int {
		return port.IntVal
	}
	for i := range c.Ports {
		if c.Ports[i].Name == port.StrVal {
			return c.Ports[i].ContainerPort
		}
	}
	return 0
}
