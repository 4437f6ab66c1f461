package reach

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/network/ends"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/routes"
	"minikcm.dev/minikcm/internal/network/services"
)

// Ask is a question of a person, as minikcm reach takes it.
type Ask struct {
	// Namespace is the namespace of From. ToNamespace is the namespace of To; if it is empty, To is in Namespace, too.
	Namespace, ToNamespace string
	// From is a pod, a workload (deploy/NAME), a node (node/NAME), apiserver, or an address outside of the cluster.
	From string
	// To is a name as a program in From would use it, an address, svc/NAME, or one of From's forms, and may have a port. It may be the
	// URL of a request, with a name or an address.
	To string
	// Port is the port; 0: that in To.
	Port     int32
	Protocol corev1.Protocol
}

// InvalidError means that a question cannot be read.
type InvalidError struct{ Why string }

func (e *InvalidError) Error() string { return e.Why }

// NotFoundError means that a question names what is not there.
type NotFoundError struct{ What string }

func (e *NotFoundError) Error() string { return e.What + " not found" }

// Answer answers a question. complete fills in what a query needs of the cluster: Listens at least.
func (c *Cluster) Answer(a *Ask, complete func(*Query)) (*Report, error) {
	from, name, err := c.end(cmp.Or(a.Namespace, metav1.NamespaceDefault), a.From)
	if err != nil {
		return nil, err
	}
	q := &Query{From: from, Protocol: cmp.Or(a.Protocol, corev1.ProtocolTCP)}
	own := *a
	request, err := own.request()
	if err != nil {
		return nil, err
	}
	to, err := c.target(q, cmp.Or(a.ToNamespace, a.Namespace, metav1.NamespaceDefault), &own)
	if err != nil {
		return nil, err
	}
	complete(q)
	q.Asked = true
	path := c.Decide(q)
	if request == nil {
		return path.Report(q, name, to), nil
	}
	report := path.Report(q, name, a.To)
	if path.Router != nil && path.Outcome == Connected {
		request.Port = path.Frontend.Port.Port
		report.addForwarded(c.Forward(q, path, 0, request, 0))
	}
	return report, nil
}

// request returns the request of a question with a URL, whose host and port take its place; nil if it has none.
func (a *Ask) request() (*routes.Request, error) {
	scheme, rest, ok := strings.Cut(a.To, "://")
	if !ok {
		return nil, nil
	}
	u, err := url.Parse(a.To)
	switch {
	case scheme != "http" && scheme != "https":
		return nil, &InvalidError{fmt.Sprintf("%q: the scheme must be http or https", a.To)}
	case err != nil || rest == "" || u.Hostname() == "":
		return nil, &InvalidError{fmt.Sprintf("%q is not a URL with a host", a.To)}
	case a.Protocol != "" && a.Protocol != corev1.ProtocolTCP:
		return nil, &InvalidError{fmt.Sprintf("requests are sent with TCP, and not with %s", a.Protocol)}
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	a.To = net.JoinHostPort(u.Hostname(), port)
	return &routes.Request{Host: routes.HostOf(u.Host), Path: cmp.Or(u.Path, "/"), Method: "GET", Query: u.Query()}, nil
}

// CheckEnd returns an *InvalidError if a text cannot be the source of a connection.
func CheckEnd(text string) error {
	if _, err := netip.ParseAddr(text); err == nil || text == ends.APIServer {
		return nil
	}
	kind, name, ok := strings.Cut(text, "/")
	if !ok {
		kind, name = "pod", text
	}
	switch {
	case name == "" || strings.Contains(name, "/"):
		return &InvalidError{fmt.Sprintf("%q is none of POD, pod/NAME, deploy/NAME, node/NAME, apiserver and an address", text)}
	case slices.Contains([]string{"node", "nodes", "no", "pod", "pods", "po"}, strings.ToLower(kind)) || ends.Workload(kind) != "":
		return nil
	}
	return &InvalidError{fmt.Sprintf("%q is none of pod, deploy, sts, ds, rs, job and node", kind)}
}

// end returns one end of a connection, and its name.
func (c *Cluster) end(namespace, text string) (policy.Peer, string, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		address = address.Unmap()
		if pod := c.pods[address]; pod != nil {
			return policy.Peer{Pod: pod}, podName(pod), nil
		}
		if c.isAPIServer(address) {
			text = apiServerName
		}
		return policy.Peer{Address: address, Node: c.byAddress[address]}, text, nil
	}
	if err := CheckEnd(text); err != nil {
		return policy.Peer{}, "", err
	}
	if text == ends.APIServer {
		peer, _ := c.apiServer()
		return peer, apiServerName, nil
	}
	kind, name, ok := strings.Cut(text, "/")
	if !ok {
		kind, name = "pod", text
	}
	switch lower := strings.ToLower(kind); {
	case lower == "node" || lower == "nodes" || lower == "no":
		if c.nodes[name] == nil {
			return policy.Peer{}, "", &NotFoundError{"node " + name}
		}
		return policy.Peer{Node: name}, "node " + name, nil
	case lower == "pod" || lower == "pods" || lower == "po":
		pod := c.Pod(namespace, name)
		if pod == nil {
			return policy.Peer{}, "", &NotFoundError{"pod " + namespace + "/" + name}
		}
		if !attached(pod) || len(PodAddresses(pod)) == 0 {
			return policy.Peer{}, "", &NotFoundError{"an address of pod " + namespace + "/" + name}
		}
		return policy.Peer{Pod: pod}, podName(pod), nil
	}
	of := ends.Workload(kind)
	pods := c.Pods(namespace, func(pod *corev1.Pod) bool { return ends.Belongs(pod, of, name) && len(PodAddresses(pod)) > 0 })
	if len(pods) == 0 {
		return policy.Peer{}, "", &NotFoundError{fmt.Sprintf("a pod of %s %s/%s", of, namespace, name)}
	}
	return policy.Peer{Pod: pods[0]}, podName(pods[0]), nil
}

// apiServerName names the API server in answers.
const apiServerName = "the API server"

func podName(pod *corev1.Pod) string { return "pod " + pod.Namespace + "/" + pod.Name }

// defaultPort is the port of a destination that states none and has none.
const defaultPort = 80

// target fills in the query's destination, and returns its name.
func (c *Cluster) target(q *Query, namespace string, a *Ask) (string, error) {
	host, port, err := splitPort(a.To)
	switch {
	case err != nil:
		return "", err
	case port != 0 && a.Port != 0 && port != a.Port:
		return "", &InvalidError{fmt.Sprintf("%q names another port than %d", a.To, a.Port)}
	}
	port = cmp.Or(port, a.Port)
	q.Host, q.Port = host, port
	kind, name, isObject := strings.Cut(host, "/")
	switch {
	case host == ends.APIServer && c.serviceOf(q, host) == nil:
		to, at := c.apiServer()
		q.Host, q.Port = to.Address.String(), cmp.Or(q.Port, at)
		return apiServerName, nil
	case !isObject:
		if q.Port == 0 {
			q.Port = c.portOf(c.serviceOf(q, host), nil)
		}
	case kind == "svc" || kind == "service" || kind == "services":
		s := c.Services.Service(services.Key{Namespace: namespace, Name: name})
		if s == nil {
			return "", &NotFoundError{"service " + namespace + "/" + name}
		}
		q.Host = name + "." + namespace + ".svc." + c.zone().DomainName()
		if q.Port == 0 {
			q.Port = c.portOf(s, nil)
		}
		if ips := services.ClusterIPs(s); len(ips) > 0 && q.From.Pod == nil {
			q.Host = ips[0] // sources that are no pods do not ask the cluster's name server
		}
		return fmt.Sprintf("service %s/%s:%d", namespace, name, q.Port), nil
	default:
		peer, called, err := c.end(namespace, host)
		if err != nil {
			return "", err
		}
		if q.Port == 0 {
			q.Port = c.portOf(nil, peer.Pod)
		}
		addresses := []netip.Addr{peer.Address}
		if peer.Pod != nil {
			addresses = PodAddresses(peer.Pod)
		} else if node := c.nodes[peer.Node]; node != nil {
			addresses = NodeAddresses(node)
		}
		if len(addresses) == 0 {
			return "", &NotFoundError{"an address of " + called}
		}
		q.Host = addresses[0].String()
		return fmt.Sprintf("%s:%d", called, q.Port), nil
	}
	return fmt.Sprintf("%s:%d", host, q.Port), nil
}

// ParseProtocol reads the name of a protocol; empty is TCP.
func ParseProtocol(text string) (corev1.Protocol, error) {
	switch p := corev1.Protocol(strings.ToUpper(text)); p {
	case "":
		return corev1.ProtocolTCP, nil
	case corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
		return p, nil
	}
	return "", fmt.Errorf("%q is none of the protocols TCP, UDP and SCTP", text)
}

// splitPort splits HOST:PORT; the port is 0 if there is none. An IPv6 address with a port is in brackets.
func splitPort(text string) (host string, port int32, err error) {
	if _, err := netip.ParseAddr(text); err == nil {
		return text, 0, nil
	}
	host = text
	if colon := strings.LastIndexByte(text, ':'); colon >= 0 {
		n, err := strconv.ParseUint(text[colon+1:], 10, 16)
		if err != nil || n == 0 {
			return "", 0, &InvalidError{fmt.Sprintf("%q does not end with a port from 1 to 65535", text)}
		}
		host, port = text[:colon], int32(n)
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if host == "" {
		return "", 0, &InvalidError{fmt.Sprintf("%q names no destination", text)}
	}
	return host, port, nil
}

// serviceOf returns the Service that a name or address leads to; nil if it is none.
func (c *Cluster) serviceOf(q *Query, host string) *corev1.Service {
	address, err := netip.ParseAddr(host)
	if err != nil && q.From.Pod != nil {
		config := c.ResolverOf(q.From.Pod)
		if r := c.zone().Resolve(&config, host); len(r.Addresses) > 0 {
			address = r.Addresses[0]
		}
	}
	if owner, ok := c.Services.Owner(address); ok {
		return c.Services.Service(owner)
	}
	return nil
}

// portOf returns the first port of a Service or of a pod.
func (c *Cluster) portOf(s *corev1.Service, pod *corev1.Pod) int32 {
	if s != nil && len(s.Spec.Ports) > 0 {
		return s.Spec.Ports[0].Port
	}
	if pod != nil {
		for i := range pod.Spec.Containers {
			for _, p := range pod.Spec.Containers[i].Ports {
				return p.ContainerPort
			}
		}
	}
	return defaultPort
}
