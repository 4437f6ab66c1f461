package reach

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
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
	// From is a pod, a workload (deploy/NAME), a node (node/NAME), apiserver, outside, or an address outside of the cluster.
	From string
	// To is a name as a program in From would use it, an address, svc/NAME, or one of From's forms, and may have a port. It may be the
	// URL of a request, with a name or an address.
	To string
	// Port is the number or the name of the port; empty: that in To.
	Port string
	// Protocol is the protocol; empty: the one of a port that is named, or TCP.
	Protocol corev1.Protocol
}

// InvalidError means that a question cannot be read.
type InvalidError struct{ Why string }

func (e *InvalidError) Error() string { return e.Why }

// NotFoundError means that a question names what is not there. Has, which may be empty, says what there is in its place.
type NotFoundError struct {
	What string `json:"what"`
	Has  string `json:"has,omitempty"`
}

func (e *NotFoundError) Error() string {
	if e.Has != "" {
		return e.What + " not found: " + e.Has
	}
	return e.What + " not found"
}

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
	var path *Path
	switch {
	case to.nowhere != "":
		path = (&Path{Protocol: q.Protocol}).end(Unreachable, to.nowhere)
	case own.From == ends.Outside:
		path = c.DecideOutside(q)
		name += " (" + q.From.Address.String() + ")"
	default:
		path = c.Decide(q)
	}
	if request == nil {
		return path.Report(q, name, to.name), nil
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
	if _, err := netip.ParseAddr(text); err == nil || text == ends.APIServer || text == ends.Outside {
		return nil
	}
	kind, name, ok := strings.Cut(text, "/")
	if !ok {
		kind, name = "pod", text
	}
	switch {
	case name == "" || strings.Contains(name, "/"):
		return &InvalidError{fmt.Sprintf("%q is none of POD, pod/NAME, deploy/NAME, node/NAME, apiserver, outside and an address", text)}
	case slices.Contains([]string{"node", "nodes", "no", "pod", "pods", "po"}, strings.ToLower(kind)) || ends.Workload(kind) != "":
		return nil
	}
	return &InvalidError{fmt.Sprintf("%q is none of pod, deploy, sts, ds, rs, job and node", kind)}
}

// CheckTarget returns an *InvalidError if the destination of a question cannot be read.
func (a *Ask) CheckTarget() error {
	own := *a
	request, err := own.request()
	if err != nil {
		return err
	}
	host, _, err := splitPort(own.To)
	if err != nil || request != nil {
		return err
	}
	kind, name, isObject := strings.Cut(host, "/")
	switch {
	case !isObject || isService(kind) && name != "" && !strings.Contains(name, "/"):
		return nil
	case isService(kind):
		return &InvalidError{fmt.Sprintf("%q is not svc/NAME", host)}
	}
	return CheckEnd(host)
}

func isService(kind string) bool { return kind == "svc" || kind == "service" || kind == "services" }

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
	switch text {
	case ends.APIServer:
		peer, _ := c.apiServer()
		return peer, apiServerName, nil
	case ends.Outside:
		return policy.Peer{Address: Machine()[0]}, outsideName, nil
	}
	kind, name, ok := strings.Cut(text, "/")
	if !ok {
		kind, name = "pod", text
	}
	switch lower := strings.ToLower(kind); {
	case lower == "node" || lower == "nodes" || lower == "no":
		if c.nodes[name] == nil {
			return policy.Peer{}, "", &NotFoundError{What: "node " + name}
		}
		return policy.Peer{Node: name}, "node " + name, nil
	case lower == "pod" || lower == "pods" || lower == "po":
		pod := c.Pod(namespace, name)
		if pod == nil {
			return policy.Peer{}, "", &NotFoundError{What: "pod " + namespace + "/" + name}
		}
		if !attached(pod) || len(PodAddresses(pod)) == 0 {
			return policy.Peer{}, "", &NotFoundError{What: "an address of pod " + namespace + "/" + name}
		}
		return policy.Peer{Pod: pod}, podName(pod), nil
	}
	of := ends.Workload(kind)
	pods := c.Pods(namespace, func(pod *corev1.Pod) bool { return ends.Belongs(pod, of, name) && len(PodAddresses(pod)) > 0 })
	if len(pods) == 0 {
		return policy.Peer{}, "", &NotFoundError{What: fmt.Sprintf("a pod of %s %s/%s", of, namespace, name)}
	}
	return policy.Peer{Pod: pods[0]}, podName(pods[0]), nil
}

// apiServerName names the API server in answers.
const apiServerName = "the API server"

func podName(pod *corev1.Pod) string { return "pod " + pod.Namespace + "/" + pod.Name }

// defaultPort is the port of a destination that states none and has none.
const defaultPort = 80

// destination is where a question leads. nowhere, if it is not empty, says why the source cannot even try.
type destination struct{ name, nowhere string }

// target fills in the query's destination.
func (c *Cluster) target(q *Query, namespace string, a *Ask) (to destination, err error) {
	host, text, err := splitPort(a.To)
	switch {
	case err != nil:
		return to, err
	case text != "" && a.Port != "" && text != a.Port:
		return to, &InvalidError{fmt.Sprintf("%q names another port than %s", a.To, a.Port)}
	}
	text = cmp.Or(text, a.Port)
	use := func(of string, has []knownPort) (*knownPort, error) {
		port, err := a.choose(of, text, has)
		if err == nil {
			q.Port, q.Protocol = port.number, port.protocol
			to.name = fmt.Sprintf("%s:%d", of, port.number)
		}
		return port, err
	}
	q.Host = host
	kind, name, isObject := strings.Cut(host, "/")
	of, has := c.portsAt(q, host)
	switch {
	case host == ends.APIServer && len(has) == 0:
		end, at := c.apiServer()
		q.Host, to.name = end.Address.String(), apiServerName
		if text == "" {
			q.Port = at
			return to, nil
		}
		_, err = use(apiServerName, []knownPort{{name: "https", number: at, protocol: corev1.ProtocolTCP}})
		to.name = apiServerName
	case host == ends.Outside && len(has) == 0:
		q.Host = outsideAddress
		_, err = use(outsideName, []knownPort{{number: outsidePort, protocol: corev1.ProtocolTCP}})
	case !isObject:
		_, err = use(of, has)
		to.name = fmt.Sprintf("%s:%d", host, q.Port)
	case isService(kind):
		s := c.Services.Service(services.Key{Namespace: namespace, Name: name})
		if s == nil {
			return to, &NotFoundError{What: "service " + namespace + "/" + name}
		}
		port, err := use("service "+namespace+"/"+name, servicePorts(s))
		if err == nil {
			to.nowhere, err = c.toService(q, a, s, port)
		}
		return to, err
	default:
		end, called, err := c.end(namespace, host)
		if err != nil {
			return to, err
		}
		addresses := []netip.Addr{end.Address}
		if end.Pod != nil {
			addresses, has = PodAddresses(end.Pod), podPorts(end.Pod)
		} else if node := c.nodes[end.Node]; node != nil {
			addresses = NodeAddresses(node)
		}
		if len(addresses) == 0 {
			return to, &NotFoundError{What: "an address of " + called}
		}
		q.Host = addresses[0].String()
		_, err = use(called, has)
		return to, err
	}
	return to, err
}

// ParseProtocol reads the name of a protocol, which may be empty.
func ParseProtocol(text string) (corev1.Protocol, error) {
	switch p := corev1.Protocol(strings.ToUpper(text)); p {
	case "", corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
		return p, nil
	}
	return "", fmt.Errorf("%q is none of the protocols TCP, UDP and SCTP", text)
}

// splitPort splits HOST:PORT; the port, a number or a name, is empty if there is none. An IPv6 address with a port is in brackets.
func splitPort(text string) (host, port string, err error) {
	if _, err := netip.ParseAddr(text); err == nil {
		return text, "", nil
	}
	host = text
	if colon := strings.LastIndexByte(text, ':'); colon >= 0 {
		host, port = text[:colon], text[colon+1:]
		if _, err := ParsePort(port); err != nil || port == "" {
			return "", "", &InvalidError{fmt.Sprintf("%q does not end with a port from 1 to 65535, or the name of one", text)}
		}
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if host == "" {
		return "", "", &InvalidError{fmt.Sprintf("%q names no destination", text)}
	}
	return host, port, nil
}
