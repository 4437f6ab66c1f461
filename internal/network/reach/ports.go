package reach

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"minikcm.dev/minikcm/internal/hostaddress"
	"minikcm.dev/minikcm/internal/network/services"
)

// knownPort is a port that a destination has.
type knownPort struct {
	name     string
	number   int32
	protocol corev1.Protocol
	// node is the node port of a Service's port; 0: it has none.
	node int32
}

// String returns the port as an error lists it, such as http (80) or dns (53/UDP).
func (p *knownPort) String() string { return p.name + " (" + portText(p.number, p.protocol) + ")" }

// portText returns a port as cells of a matrix have it.
func portText(number int32, protocol corev1.Protocol) string {
	if protocol == corev1.ProtocolTCP {
		return strconv.Itoa(int(number))
	}
	return fmt.Sprintf("%d/%s", number, protocol)
}

// ParsePort reads the number or the name of a port; number is 0 for a name, and for an empty text.
func ParsePort(text string) (number int32, err error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	switch {
	case err == nil && n != 0:
		return int32(n), nil
	case err == nil || len(validation.IsDNS1123Label(text)) > 0 || !strings.ContainsAny(text, "abcdefghijklmnopqrstuvwxyz"):
		return 0, fmt.Errorf("%q is neither a port from 1 to 65535 nor the name of one", text)
	}
	return 0, nil
}

// choose returns the port that a question means, by number or name. Without either, it is the first one that the destination has, or 80.
// Without a protocol in the question, it has the port's. of names the destination.
func (a *Ask) choose(of, text string, has []knownPort) (*knownPort, error) {
	asked := cmp.Or(a.Protocol, corev1.ProtocolTCP)
	fits := func(p knownPort) bool { return a.Protocol == "" || p.protocol == a.Protocol }
	switch number, err := ParsePort(text); {
	case err != nil:
		return nil, &InvalidError{err.Error()}
	case number != 0:
		if i := slices.IndexFunc(has, func(p knownPort) bool { return p.number == number && p.protocol == asked }); i >= 0 {
			return &has[i], nil
		}
		if i := slices.IndexFunc(has, func(p knownPort) bool { return p.node == number && p.protocol == asked }); i >= 0 {
			return &knownPort{name: has[i].name, number: number, protocol: asked, node: number}, nil
		}
		return &knownPort{number: number, protocol: asked}, nil
	case text == "" && len(has) == 0:
		return &knownPort{number: defaultPort, protocol: asked}, nil
	case text == "":
		i := max(0, slices.IndexFunc(has, fits))
		first := has[i]
		first.protocol = cmp.Or(a.Protocol, first.protocol)
		return &first, nil
	}
	if i := slices.IndexFunc(has, func(p knownPort) bool { return p.name == text && fits(p) }); i >= 0 {
		return &has[i], nil
	}
	return nil, &NotFoundError{What: fmt.Sprintf("a port %q of %s", text, of), Has: namesOf(has)}
}

// maxNames caps the names of ports in an error.
const maxNames = 20

// namesOf says which names ports have.
func namesOf(has []knownPort) string {
	var names []string
	for i := range has {
		if name := has[i].String(); has[i].name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch n := len(names); {
	case len(has) == 0:
		return "no ports of it are known"
	case n == 0:
		return "its ports have no names"
	case n > maxNames:
		names = append(names[:maxNames], fmt.Sprintf("%d more", n-maxNames))
	}
	return "it has " + strings.Join(names, ", ")
}

// servicePorts returns the ports of a Service.
func servicePorts(s *corev1.Service) []knownPort {
	var all []knownPort
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		all = append(all, knownPort{p.Name, p.Port, cmp.Or(p.Protocol, corev1.ProtocolTCP), p.NodePort})
	}
	return all
}

// podPorts returns the ports that the containers of a pod declare.
func podPorts(pod *corev1.Pod) []knownPort {
	var all []knownPort
	for i, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for k := range list {
			if i == 1 && (list[k].RestartPolicy == nil || *list[k].RestartPolicy != corev1.ContainerRestartPolicyAlways) {
				continue // it has ended when the pod serves
			}
			for _, p := range list[k].Ports {
				all = append(all, knownPort{name: p.Name, number: p.ContainerPort, protocol: cmp.Or(p.Protocol, corev1.ProtocolTCP)})
			}
		}
	}
	return all
}

// portsAt returns what a name or an address leads to, in words, and its ports: a Service's, a headless Service's as its pods have
// them, or a pod's.
func (c *Cluster) portsAt(q *Query, host string) (of string, has []knownPort) {
	address, err := netip.ParseAddr(host)
	var named *corev1.Service
	if err != nil && q.From.Pod != nil {
		config, zone := c.ResolverOf(q.From.Pod), c.zone()
		r := zone.Resolve(&config, host)
		if len(r.Addresses) == 0 {
			return host, nil
		}
		address = r.Addresses[0]
		if name, ok := strings.CutSuffix(r.Name, ".svc."+zone.DomainName()); ok {
			labels := strings.Split(name, ".")
			if n := len(labels); n >= 2 {
				named = c.Services.Service(services.Key{Namespace: labels[n-1], Name: labels[n-2]})
			}
		}
	} else if err != nil {
		if found := c.published(strings.ToLower(host)); len(found) > 0 {
			address = found[0]
		}
	}
	pod := c.pods[address.Unmap()]
	if owner, ok := c.Services.Owner(address); ok && pod == nil {
		named = c.Services.Service(owner)
	}
	switch {
	case named != nil && pod != nil: // it is headless
		for i := range named.Spec.Ports {
			p := &named.Spec.Ports[i]
			if number := hostaddress.TargetPort(&pod.Spec, p); number != 0 {
				has = append(has, knownPort{name: p.Name, number: number, protocol: cmp.Or(p.Protocol, corev1.ProtocolTCP)})
			}
		}
		return "service " + named.Namespace + "/" + named.Name, has
	case named != nil:
		return "service " + named.Namespace + "/" + named.Name, servicePorts(named)
	case pod != nil:
		return podName(pod), podPorts(pod)
	}
	return host, nil
}
