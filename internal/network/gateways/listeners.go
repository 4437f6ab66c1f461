package gateways

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/network/routes"
)

// gateway is a Gateway of the controller.
type gateway struct {
	*Gateway
	listeners []*listener
	// refused says why the Gateway is not accepted, with the reason first.
	refused [2]string
	// rules are nil if it has no valid listener.
	rules *routes.Gateway
}

// listener is a listener of a Gateway.
type listener struct {
	*Listener
	host  string
	kinds []GroupKind
	// problems are the conditions that do not hold, by their types, with the reason first.
	problems map[string][2]string
	attached int32
	certs    []types.NamespacedName
	rules    *routes.Listener
}

// valid reports whether requests reach the listener.
func (l *listener) valid() bool {
	return l.problems[accepting][0] == "" && l.problems[conflicted][0] == "" && (l.problems[resolved][0] == "" || l.problems[resolved][0] == invalidKinds && len(l.kinds) > 0)
}

const (
	protocolHTTP  = "HTTP"
	protocolHTTPS = "HTTPS"
	invalidKinds  = "InvalidRouteKinds"
	invalidRef    = "InvalidCertificateRef"
	typeIP        = "IPAddress"
)

// gateway reads a Gateway.
func (s *Snapshot) gateway(g *Gateway) *gateway {
	made := &gateway{Gateway: g}
	for _, a := range g.Spec.Addresses {
		if t := ptr.Deref(a.Type, typeIP); t != typeIP {
			made.refused = [2]string{"UnsupportedAddress", "addresses of the type " + t + " are not supported"}
		}
	}
	if i := g.Spec.Infrastructure; i != nil && i.ParametersRef != nil {
		made.refused = [2]string{"InvalidParameters", "the controller has no parameters"}
	}
	for i := range g.Spec.Listeners {
		made.listeners = append(made.listeners, s.listener(g, &g.Spec.Listeners[i]))
	}
	made.findConflicts()
	if made.refused[0] != "" || !slices.ContainsFunc(made.listeners, (*listener).valid) {
		return made
	}
	made.rules = &routes.Gateway{Service: serviceOf(g)}
	for _, l := range made.listeners {
		if l.valid() {
			l.rules = &routes.Listener{Name: l.Name, Port: l.Port, Host: l.host, TLS: l.Protocol == protocolHTTPS, Certificates: l.certs}
			made.rules.Listeners = append(made.rules.Listeners, l.rules)
		}
	}
	return made
}

// serviceOf names the Service that leads to the router of a Gateway, as GEP-1762 recommends.
func serviceOf(g *Gateway) types.NamespacedName {
	return types.NamespacedName{Namespace: g.Namespace, Name: routes.ServiceName(g.Name+"-"+g.Spec.GatewayClassName, "gateway-")}
}

func (s *Snapshot) listener(g *Gateway, given *Listener) *listener {
	l := &listener{Listener: given, host: strings.ToLower(ptr.Deref(given.Hostname, "")), problems: map[string][2]string{}, kinds: []GroupKind{}}
	if given.Protocol != protocolHTTP && given.Protocol != protocolHTTPS {
		l.problems[accepting] = [2]string{"UnsupportedProtocol", "the protocol " + given.Protocol + " is not supported"}
		return l
	}
	l.kinds = []GroupKind{{Group: ptr.To(Group), Kind: RouteKind}}
	if given.AllowedRoutes != nil && len(given.AllowedRoutes.Kinds) > 0 {
		l.kinds = []GroupKind{}
		for _, k := range given.AllowedRoutes.Kinds {
			if ptr.Deref(k.Group, Group) == Group && k.Kind == RouteKind {
				l.kinds = []GroupKind{{Group: ptr.To(Group), Kind: RouteKind}}
			} else {
				l.problems[resolved] = [2]string{invalidKinds, "routes of the kind " + k.Kind + " are not supported"}
			}
		}
	}
	if given.Protocol == protocolHTTPS {
		s.secure(g, l)
	}
	return l
}

// secure reads the certificates of a listener.
func (s *Snapshot) secure(g *Gateway, l *listener) {
	if l.TLS != nil && ptr.Deref(l.TLS.Mode, "Terminate") != "Terminate" {
		l.problems[accepting] = [2]string{unsupported, "the TLS mode " + *l.TLS.Mode + " is not supported"}
		return
	}
	if l.TLS == nil || len(l.TLS.CertificateRefs) == 0 {
		l.problems[resolved] = [2]string{invalidRef, "the listener has no certificate"}
		return
	}
	for _, ref := range l.TLS.CertificateRefs {
		to := types.NamespacedName{Namespace: ptr.Deref(ref.Namespace, g.Namespace), Name: ref.Name}
		switch group, kind := ptr.Deref(ref.Group, ""), ptr.Deref(ref.Kind, secretKind); {
		case group != "" || kind != secretKind:
			l.problems[resolved] = [2]string{invalidRef, fmt.Sprintf("%s %s is no Secret", kind, ref.Name)}
		case !s.permitted(GatewayKind, g.Namespace, "", secretKind, to):
			l.problems[resolved] = [2]string{notPermitted, fmt.Sprintf("no ReferenceGrant permits the reference to the Secret %s", to)}
		case !s.Certified(to):
			l.problems[resolved] = [2]string{invalidRef, fmt.Sprintf("the Secret %s does not exist, or has no certificate with its key", to)}
		default:
			l.certs = append(l.certs, to)
		}
	}
}

// findConflicts finds listeners that share a port and either differ in protocol or have one host.
func (g *gateway) findConflicts() {
	for i, a := range g.listeners {
		for _, b := range g.listeners[i+1:] {
			if a.Port != b.Port || a.problems[accepting][0] == "UnsupportedProtocol" || b.problems[accepting][0] == "UnsupportedProtocol" {
				continue
			}
			reason := ""
			switch {
			case a.Protocol != b.Protocol:
				reason = "ProtocolConflict"
			case a.host == b.host:
				reason = "HostnameConflict"
			default:
				continue
			}
			a.problems[conflicted] = [2]string{reason, "the listener " + b.Name + " has the port, too"}
			b.problems[conflicted] = [2]string{reason, "the listener " + a.Name + " has the port, too"}
		}
	}
}

// result returns the status of the Gateway and its Service.
func (g *gateway) result(s *Snapshot) *GatewayResult {
	r := &GatewayResult{}
	good := 0
	for _, l := range g.listeners {
		r.Status.Listeners = append(r.Status.Listeners, l.status(g.Generation))
		if l.valid() && len(l.problems) == 0 {
			good++
		}
	}
	accepted := condition(accepting, true, accepting, "the Gateway is accepted", g.Generation)
	switch {
	case g.refused[0] != "":
		accepted = condition(accepting, false, g.refused[0], g.refused[1], g.Generation)
	case g.rules == nil:
		accepted = condition(accepting, false, "ListenersNotValid", "no listener is valid", g.Generation)
	case good < len(g.listeners):
		accepted = condition(accepting, true, "ListenersNotValid", "some listeners are not valid", g.Generation)
	}
	ready := condition(programmed, false, invalid, "the Gateway is not accepted", g.Generation)
	if g.rules != nil {
		r.Service = g.service()
		ready = condition(programmed, false, "AddressNotAssigned", "the load balancer has no address yet", g.Generation)
		if service := s.Service(g.rules.Service); service != nil {
			for _, point := range service.Status.LoadBalancer.Ingress {
				r.Status.Addresses = append(r.Status.Addresses, Address{Type: ptr.To(typeIP), Value: point.IP})
			}
		}
		if len(r.Status.Addresses) > 0 {
			ready = condition(programmed, true, programmed, "the router serves the Gateway", g.Generation)
		}
	}
	r.Status.Conditions = []metav1.Condition{accepted, ready}
	return r
}

// status returns the status of a listener.
func (l *listener) status(generation int64) ListenerStatus {
	conditions := make([]metav1.Condition, 0, 4)
	for _, c := range []struct{ kind, reason, message string }{
		{accepting, accepting, "the listener is accepted"}, {resolved, resolved, "all references exist"}, {conflicted, "NoConflicts", "no other listener has its port and host"},
	} {
		problem, bad := l.problems[c.kind]
		if c.kind == accepting && !bad {
			problem, bad = l.problems[conflicted]
		}
		holds := !bad
		if c.kind == conflicted {
			holds = bad
		}
		if bad {
			c.reason, c.message = problem[0], problem[1]
		}
		conditions = append(conditions, condition(c.kind, holds, c.reason, c.message, generation))
	}
	ready := condition(programmed, true, programmed, "the router serves the listener", generation)
	if !l.valid() {
		ready = condition(programmed, false, invalid, "the listener is not valid", generation)
	}
	return ListenerStatus{Name: l.Name, SupportedKinds: l.kinds, AttachedRoutes: l.attached, Conditions: append(conditions, ready)}
}

// service returns the Service that leads to the router.
func (g *gateway) service() *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: g.rules.Service.Namespace, Name: g.rules.Service.Name, Labels: map[string]string{Group + "/gateway-name": g.Name}, Annotations: map[string]string{},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: Group + "/v1", Kind: GatewayKind, Name: g.Name, UID: g.UID, Controller: ptr.To(true)}},
	}}
	if i := g.Spec.Infrastructure; i != nil {
		maps.Copy(s.Labels, i.Labels)
		maps.Copy(s.Annotations, i.Annotations)
	}
	s.Annotations[routes.Annotation] = routes.Router{Namespace: g.Namespace, Name: g.Name}.Value()
	s.Spec.Type, s.Spec.IPFamilyPolicy = corev1.ServiceTypeLoadBalancer, ptr.To(corev1.IPFamilyPolicyPreferDualStack)
	if len(g.Spec.Addresses) > 0 {
		s.Spec.LoadBalancerIP = g.Spec.Addresses[0].Value
	}
	ports := map[int32]bool{}
	for _, l := range g.rules.Listeners {
		if !ports[l.Port] {
			ports[l.Port] = true
			name := "http"
			if l.TLS {
				name = "https"
			}
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("%s-%d", name, l.Port), Port: l.Port, TargetPort: intstr.FromInt32(l.Port), Protocol: corev1.ProtocolTCP})
		}
	}
	return s
}
