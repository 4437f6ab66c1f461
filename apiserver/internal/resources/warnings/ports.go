package warnings

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// placedPort is a container's port and its path in the pod.
type placedPort struct {
	*corev1.ContainerPort
	at *field.Path
}

// warnPorts warns of conflicting ports and of duplicate names.
func warnPorts(p *field.Path, spec *corev1.PodSpec) []string {
	var all []string
	type number struct {
		port     int32
		protocol corev1.Protocol
	}
	known, named := map[number][]placedPort{}, map[string]*field.Path{}
	var sameNames []string
	visitContainers(p, spec, func(c *corev1.Container, path *field.Path) {
		for i := range c.Ports {
			port := placedPort{&c.Ports[i], path.Child("ports").Index(i)}
			if port.HostIP != "" && port.HostPort == 0 {
				all = append(all, fmt.Sprintf("%s: hostIP set without hostPort: %+v", port.at, shownPort(port.ContainerPort)))
			}
			key := number{port.ContainerPort.ContainerPort, port.Protocol}
			for _, other := range known[key] {
				if clash := clashOf(port.ContainerPort, other.ContainerPort); clash != "" {
					all = append(all, fmt.Sprintf("%s: %s port definition with %s", port.at, clash, other.at))
				}
			}
			known[key] = append(known[key], port)
			if port.Name == "" {
				continue
			}
			if first := named[port.Name]; first != nil {
				sameNames = append(sameNames, fmt.Sprintf("%s: duplicate port name %q with %s, services and probes that select ports by name will use %s", port.at, port.Name, first, first))
				continue
			}
			named[port.Name] = port.at
		}
	})
	return append(all, sameNames...)
}

// clashOf returns how two definitions of one port conflict, or "".
func clashOf(a, b *corev1.ContainerPort) string {
	switch {
	case a.HostIP == b.HostIP && a.HostPort == b.HostPort:
		return "duplicate"
	case a.HostPort == 0 || b.HostPort == 0:
		return "overlapping"
	case a.HostPort == b.HostPort && (a.HostIP == "") != (b.HostIP == ""):
		return "dangerously ambiguous"
	}
	return ""
}

// shownPort has the fields in the order of upstream's own type.
func shownPort(port *corev1.ContainerPort) any {
	return struct {
		Name                    string
		HostPort, ContainerPort int32
		Protocol                corev1.Protocol
		HostIP                  string
	}{port.Name, port.HostPort, port.ContainerPort, port.Protocol, port.HostIP}
}
