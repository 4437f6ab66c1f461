package servers

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
)

// Annotation describes the servers of a container. Its value is YAML:
//
//	complete: true          # the container listens on no other TCP port (the default); declared: on those that it declares; false: unknown
//	state: {hits: 0}        # the first values of the variable state
//	listen:
//	- port: 8080            # numbers or names of the container's ports with commas between them, or an expression of container and pod
//	  protocol: TCP         # or UDP, SCTP
//	  tls: {certificate: /certs/tls.crt, key: /certs/tls.key}
//	  mode: http            # or text: lines or datagrams; or echo; or grpc, with descriptors
//	  headers: {Server: x}  # of all answers
//	  routes: [...]         # the first that matches answers
//
// A route matches by path, method, query, requestHeaders, line (in the mode text) and if; it answers with status, headers, body, json, files,
// or the output of run, after delay, calls and set; or it fails (reset, close, hang), or is unknown.
const Annotation = "minikcm.dev/server"

// Description says on which ports a container listens, and what it answers.
type Description struct {
	listeners []*Listener
	// State has the first values of the variable state.
	State    map[string]any
	complete *Value
	// counts means that answers depend on how many requests there were.
	counts bool
}

// Mode is how a listener speaks.
type Mode string

// The modes of listeners.
const (
	HTTP Mode = "http"
	Text Mode = "text"
	Echo Mode = "echo"
	GRPC Mode = "grpc"
)

// Listener is one port of a Description.
type Listener struct {
	Mode Mode
	// Schema has the messages of the mode grpc.
	Schema *Schema
	// certificate and key are the files with which it serves TLS; nil: it does not.
	certificate, key *Value
	port             *Value
	protocol         corev1.Protocol
	headers          []header
	routes           []*Route
	of               *Description
	// machine means that conditions or headers need the container's files or environment.
	machine bool
}

// known remembers the descriptions that have been parsed, by their text. It forgets all when there are maxKnown.
var known sync.Map

const maxKnown = 256

type parsed struct {
	description *Description
	err         error
}

// Parse reads a description. It compiles each text once.
func Parse(text string) (*Description, error) {
	if p, ok := known.Load(text); ok {
		return p.(parsed).description, p.(parsed).err
	}
	description, err := parse(text)
	count := 0
	known.Range(func(any, any) bool { count++; return true })
	if count >= maxKnown {
		known.Clear()
	}
	known.Store(text, parsed{description, err})
	return description, err
}

// Of returns the description of a container's servers; nil if it has none, or an invalid one.
func Of(pod *corev1.Pod, container string, kind podspec.Kind) *Description {
	if len(pod.Annotations) == 0 {
		return nil
	}
	text, ok := podspec.Annotations{Pod: pod, Container: container, NamedOnly: kind != podspec.AppContainer}.Get(Annotation)
	if !ok {
		return nil
	}
	d, _ := Parse(text) // an event reports an error
	return d
}

// static is an Input of what follows from a pod.
func static(pod *corev1.Pod, c *corev1.Container) *Input {
	return &Input{Container: ContainerOf(pod, c), Pod: PodOf(pod)}
}

// Completeness says on which TCP ports a container listens beside those of its description.
type Completeness string

// The values of complete.
const (
	Complete   Completeness = "true"     // on none
	Declared   Completeness = "declared" // on those that it declares
	Incomplete Completeness = "false"    // on any: as without the description
)

// Complete returns the Completeness of the description of a container; Incomplete if it cannot be computed.
func (d *Description) Complete(pod *corev1.Pod, c *corev1.Container) Completeness {
	if d.complete == nil {
		return Complete
	}
	text, ok := d.complete.constant()
	if !ok {
		text, _ = d.complete.Text(static(pod, c)) // it is Incomplete then
	}
	of, err := completenessOf(text)
	if err != nil {
		return Incomplete
	}
	return of
}

func completenessOf(text string) (Completeness, error) {
	switch of := Completeness(strings.TrimSpace(text)); of {
	case Complete, Declared, Incomplete:
		return of, nil
	}
	return "", fmt.Errorf("%q is neither true, declared nor false", text)
}

// Listener returns what listens on a port; nil if nothing does.
func (d *Description) Listener(pod *corev1.Pod, c *corev1.Container, port int32, protocol corev1.Protocol) *Listener {
	var in *Input
	for _, l := range d.listeners {
		if l.protocol != protocol {
			continue
		}
		text, ok := l.port.constant()
		if !ok {
			if in == nil {
				in = static(pod, c)
			}
			var err error
			if text, err = l.port.Text(in); err != nil {
				continue
			}
		}
		for one := range strings.SplitSeq(text, ",") {
			if portOf(c, one) == int64(port) {
				return l
			}
		}
	}
	return nil
}

// portOf returns the port that a number or a name of a container's port means; 0 if it is none.
func portOf(c *corev1.Container, text string) int64 {
	text = strings.TrimSpace(text)
	if i := slices.IndexFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == text && text != "" }); i >= 0 {
		return int64(c.Ports[i].ContainerPort)
	}
	n, err := intOf(text, 1, 1<<16-1)
	if err != nil {
		return 0
	}
	return n
}

// Status codes of HTTP.
const (
	statusOK               = 200
	statusNotFound         = 404
	statusMethodNotAllowed = 405
)

// TLS returns the files with which the listener serves TLS; nil: it does not.
func (l *Listener) TLS(pod *corev1.Pod, c *corev1.Container) *responses.Files {
	if l.certificate == nil {
		return nil
	}
	in := static(pod, c)
	certificate, err := l.certificate.Text(in)
	if err != nil {
		return &responses.Files{}
	}
	key, err := l.key.Text(in)
	if err != nil {
		return &responses.Files{}
	}
	return &responses.Files{Certificate: certificate, Key: key}
}

// SpeaksHTTP reports whether the listener is a server of HTTP, in any version.
func (l *Listener) SpeaksHTTP() bool { return l.Mode == HTTP || l.Mode == GRPC }

// First returns the first values of the state.
func (l *Listener) First() map[string]any { return l.of.State }

// NeedsMachine reports whether the choice of a route needs the container's files or environment.
func (l *Listener) NeedsMachine() bool { return l.machine }

// Find returns the route of a request, and sets the request's variables. Without a route, status is the status of the answer.
func (l *Listener) Find(in *Input) (route *Route, status int, err error) {
	status = statusNotFound
	for _, r := range l.routes {
		vars, ok := r.path.match(in.Request.Path)
		if !ok {
			continue
		}
		if !r.allows(in.Request.Method) {
			status = statusMethodNotAllowed
			continue
		}
		if !r.asks(in.Request) {
			continue
		}
		in.Request.Vars = vars
		if r.condition != nil {
			holds, err := r.condition.Bool(in)
			if err != nil {
				return nil, 0, fmt.Errorf("the condition of a route: %w", err)
			}
			if !holds {
				continue
			}
		}
		return r, 0, nil
	}
	in.Request.Vars = nil
	return nil, status, nil
}

// Constant returns the status of the answer to a GET request that does not depend on anything but its path and its headers, and
// has no effect; not ok if it does.
func (l *Listener) Constant(r *Request) (status int, ok bool) {
	if l.Mode != HTTP || l.of.counts {
		return 0, false
	}
	for _, route := range l.routes {
		if _, ok := route.path.match(r.Path); !ok || !route.allows(r.Method) || !route.asks(r) {
			continue
		}
		return route.constant()
	}
	return statusNotFound, true
}

// Ports lists the ports of a description for people, as a container has them without arguments and variables.
func Ports(text string) string {
	d, err := Parse(text)
	if err != nil {
		return ""
	}
	in := &Input{Container: &Container{}, Pod: &Pod{}}
	var ports []string
	for _, l := range d.listeners {
		port, err := l.port.Text(in)
		if err != nil || port == "" {
			continue
		}
		if l.Mode != HTTP || l.protocol != corev1.ProtocolTCP {
			port += "/" + string(l.protocol)
		}
		ports = append(ports, port)
	}
	return strings.Join(ports, ", ")
}
