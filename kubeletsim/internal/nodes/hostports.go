package nodes

import (
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

// hostPort is a port of the node that a pod uses exclusively.
type hostPort struct {
	ip       string
	protocol corev1.Protocol
	port     int32
}

func hostPortsOf(pod *corev1.Pod) []hostPort {
	var ports []hostPort
	for _, ref := range podspec.Containers(pod) {
		if ref.Kind == podspec.InitContainer || ref.Kind == podspec.EphemeralContainer {
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

// conflicts reports whether two pods cannot both have their ports.
func (p hostPort) conflicts(other hostPort) bool {
	return p.port == other.port && p.protocol == other.protocol && (p.ip == other.ip || p.ip == anyIP || other.ip == anyIP)
}
