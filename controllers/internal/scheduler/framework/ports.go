package framework

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// anyAddress is the host address of a port that specifies none.
const anyAddress = "0.0.0.0"

// HostPort is a port of the node that a pod uses.
type HostPort struct {
	address  string
	protocol corev1.Protocol
	port     int32
}

// conflicts reports whether both ports cannot be used on one node.
func (p HostPort) conflicts(o HostPort) bool {
	return p.port == o.port && p.protocol == o.protocol &&
		(p.address == o.address || p.address == anyAddress || o.address == anyAddress)
}

// hostPorts returns the host ports of a pod's containers and sidecars.
func hostPorts(pod *corev1.Pod) []HostPort {
	var ports []HostPort
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			ports = appendHostPorts(ports, c)
		}
	}
	for i := range pod.Spec.Containers {
		ports = appendHostPorts(ports, &pod.Spec.Containers[i])
	}
	return ports
}

func appendHostPorts(ports []HostPort, c *corev1.Container) []HostPort {
	for _, p := range c.Ports {
		if p.HostPort <= 0 {
			continue
		}
		ports = append(ports, HostPort{
			address:  cmp.Or(p.HostIP, anyAddress),
			protocol: cmp.Or(p.Protocol, corev1.ProtocolTCP),
			port:     p.HostPort,
		})
	}
	return ports
}

// AnyConflict reports whether a wanted port conflicts with a used one.
func AnyConflict(wanted, used []HostPort) bool {
	for _, w := range wanted {
		for _, u := range used {
			if w.conflicts(u) {
				return true
			}
		}
	}
	return false
}
