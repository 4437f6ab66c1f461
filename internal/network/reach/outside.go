package reach

import (
	"cmp"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/ends"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/services"
)

// outsideName names the outside of the cluster in answers.
const outsideName = "the outside"

// DecideOutside says where a connection goes that a program of the machine makes from outside of the cluster. It comes from the machine's
// address of the destination's family, which it sets as the query's source.
func (c *Cluster) DecideOutside(q *Query) *Path {
	var p *Path
	for _, own := range Machine() {
		q.From = policy.Peer{Address: own}
		if p = c.Decide(q); p.Outcome != Unreachable {
			break
		}
	}
	return p
}

// isOutside reports whether the query's source is outside of the cluster.
func (c *Cluster) isOutside(q *Query) bool {
	return q.From.Pod == nil && q.From.Node == "" && !c.isAPIServer(q.From.Address)
}

// toService leads the query to a port of a Service: from outside of the cluster by the address that the Service has there, otherwise by its
// name, or by its cluster IP if the source does not ask the cluster's name server. nowhere says why there is no way.
func (c *Cluster) toService(q *Query, a *Ask, s *corev1.Service, port *knownPort) (nowhere string, err error) {
	q.Host = s.Name + "." + s.Namespace + ".svc." + c.zone().DomainName()
	ips := services.ClusterIPs(s)
	if len(ips) > 0 && q.From.Pod == nil {
		q.Host = ips[0]
	}
	if !c.isOutside(q) {
		return "", nil
	}
	host, number, why := entrance(s, port)
	switch {
	case why == "":
		q.Host, q.Port = host, number
	case a.From == ends.Outside || cmp.Or(s.Spec.Type, corev1.ServiceTypeClusterIP) != corev1.ServiceTypeClusterIP || len(ips) == 0:
		return fmt.Sprintf("the Service %s/%s %s", s.Namespace, s.Name, why), nil
	}
	return "", nil
}

// entrance returns where a Service is reached from outside of the cluster: at its load balancer, a node port, or an external IP. A node
// port is one of any node, for which the loopback address stands. why says why it is reached nowhere.
func entrance(s *corev1.Service, port *knownPort) (host string, number int32, why string) {
	loopback := "127.0.0.1"
	if six := s.Spec.IPFamilies; len(six) > 0 && six[0] == corev1.IPv6Protocol {
		loopback = "::1"
	}
	switch isBalancer := s.Spec.Type == corev1.ServiceTypeLoadBalancer; {
	case port.node != 0 && port.node == port.number:
		return loopback, port.node, ""
	case isBalancer:
		for _, point := range s.Status.LoadBalancer.Ingress {
			if _, err := netip.ParseAddr(point.IP); err == nil {
				return point.IP, port.number, ""
			}
		}
		why = "has no address of a load balancer"
	case s.Spec.Type == corev1.ServiceTypeNodePort && port.node != 0:
		return loopback, port.node, ""
	case s.Spec.Type == corev1.ServiceTypeNodePort:
		why = fmt.Sprintf("has no node port for port %s", portText(port.number, port.protocol))
	default:
		why = "has no address outside of the cluster: its type is " + string(cmp.Or(s.Spec.Type, corev1.ServiceTypeClusterIP))
	}
	if len(s.Spec.ExternalIPs) > 0 && s.Spec.Type != corev1.ServiceTypeExternalName {
		return s.Spec.ExternalIPs[0], port.number, ""
	}
	return "", 0, why
}
