package scheduler

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// anyAddress is the host address of a port that asks for none.
const anyAddress = "0.0.0.0"

// hostPort is a port that a pod takes of its node.
type hostPort struct {
	address  string
	protocol corev1.Protocol
	port     int32
}

// conflicts reports whether the two cannot be on one node.
func (p hostPort) conflicts(o hostPort) bool {
	return p.port == o.port && p.protocol == o.protocol &&
		(p.address == o.address || p.address == anyAddress || o.address == anyAddress)
}

// hostPorts returns the host ports of a pod's containers and sidecars.
func hostPorts(pod *corev1.Pod) []hostPort {
	var ports []hostPort
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

func appendHostPorts(ports []hostPort, c *corev1.Container) []hostPort {
	for _, p := range c.Ports {
		if p.HostPort <= 0 {
			continue
		}
		ports = append(ports, hostPort{
			address:  cmp.Or(p.HostIP, anyAddress),
			protocol: cmp.Or(p.Protocol, corev1.ProtocolTCP),
			port:     p.HostPort,
		})
	}
	return ports
}

func anyConflict(wanted, used []hostPort) bool {
	for _, w := range wanted {
		for _, u := range used {
			if w.conflicts(u) {
				return true
			}
		}
	}
	return false
}
