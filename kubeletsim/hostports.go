package kubeletsim

import (
	corev1 "k8s.io/api/core/v1"
)

// hostPort is a port of the node that a pod has for itself.
type hostPort struct {
	ip       string
	protocol corev1.Protocol
	port     int32
}

func hostPortsOf(pod *corev1.Pod) []hostPort {
	var ports []hostPort
	for _, ref := range containersOf(pod) {
		if ref.kind == initContainer || ref.kind == ephemeralContainer {
			continue
		}
		for _, p := range ref.Ports {
			if p.HostPort <= 0 {
				continue
			}
			taken := hostPort{p.HostIP, p.Protocol, p.HostPort}
			if taken.ip == "" {
				taken.ip = anyIP
			}
			if taken.protocol == "" {
				taken.protocol = corev1.ProtocolTCP
			}
			ports = append(ports, taken)
		}
	}
	return ports
}

const anyIP = "0.0.0.0"

// conflicts is whether two pods cannot both have their ports.
func (p hostPort) conflicts(other hostPort) bool {
	return p.port == other.port && p.protocol == other.protocol && (p.ip == other.ip || p.ip == anyIP || other.ip == anyIP)
}
