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

// podAddresses returns the value of the annotation that leads a pod's ports to the command: the TCP
// ports that the container declares, those that its probes ask, and the targets of services, those
// that select the pod. Each leads to the same port of this machine, or to the one in ports. It is
// empty if there are none.
func podAddresses(pod *corev1.Pod, container string, services []*corev1.Service, ports map[int32]int32) string {
	var entries []string
	for _, port := range portsOf(pod, container, services) {
		entries = append(entries, strconv.Itoa(int(port))+"="+addressOf(port, ports))
	}
	return strings.Join(entries, ",")
}

// portsOf returns the ports of a pod for which a command stands that runs in place of the container.
func portsOf(pod *corev1.Pod, container string, services []*corev1.Service) []int32 {
	c := containerOf(&corev1.PodTemplateSpec{Spec: pod.Spec}, container)
	if c == nil {
		return nil
	}
	var all []int32
	for i := range c.Ports {
		if p := &c.Ports[i]; p.Protocol == "" || p.Protocol == corev1.ProtocolTCP {
			all = append(all, p.ContainerPort)
		}
	}
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		switch {
		case probe == nil:
		case probe.HTTPGet != nil:
			all = append(all, numberOf(c, probe.HTTPGet.Port))
		case probe.TCPSocket != nil:
			all = append(all, numberOf(c, probe.TCPSocket.Port))
		case probe.GRPC != nil:
			all = append(all, probe.GRPC.Port)
		}
	}
	for _, service := range services {
		if !hostaddress.Selects(service, pod.Labels) {
			continue
		}
		for i := range service.Spec.Ports {
			all = append(all, hostaddress.TargetPort(&pod.Spec, &service.Spec.Ports[i]))
		}
	}
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(port int32) bool { return port <= 0 })
	return all[:min(len(all), hostaddress.MaxEntries)]
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
