package streaming

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"minikcm.dev/minikcm/internal/hostaddress"
	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/internal/peers"
)

// kubeletPort is the port of kubelets.
const kubeletPort = "10250"

// destination is the target of a proxied request: a port of a pod or a handler, or the address if
// nothing listens there.
type destination struct {
	port    *secure.Port
	handler http.Handler
	address string
	// peer is the process that has the handler; nil: it is this one. prefix and path are the path of the
	// subresource proxy there, before and after the scheme.
	peer         *peers.Peer
	prefix, path string
	// outside reports that a process outside of the cluster listens at the address.
	outside bool
}

// target holds the properties in which the resources that are proxied to differ.
type target struct {
	// kind is the resource's name in error messages.
	kind string
	// options returns the object that webhooks and policies get.
	options func(path string) runtime.Object
	// find returns the destination; port is empty for the default.
	find func(ctx context.Context, rq *Request, name, port string) (destination, error)
}

// ProxyToPod passes an HTTP request on to a port of a pod.
func (s *Server) ProxyToPod(ctx context.Context, rq *Request) error {
	return s.proxy(ctx, rq, target{kind: "pod", find: s.podDestination, options: func(path string) runtime.Object {
		return &corev1.PodProxyOptions{Path: path}
	}})
}

// ProxyToService passes an HTTP request on to a pod of a Service.
func (s *Server) ProxyToService(ctx context.Context, rq *Request) error {
	return s.proxy(ctx, rq, target{kind: "service", find: s.serviceDestination, options: func(path string) runtime.Object {
		return &corev1.ServiceProxyOptions{Path: path}
	}})
}

// ProxyToNode passes an HTTP request on to a node's kubelet.
func (s *Server) ProxyToNode(ctx context.Context, rq *Request) error {
	return s.proxy(ctx, rq, target{kind: "node", find: s.nodeDestination, options: func(path string) runtime.Object {
		return &corev1.NodeProxyOptions{Path: path}
	}})
}

func (s *Server) proxy(ctx context.Context, rq *Request, t target) error {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(rq.Name)
	if !ok {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid %s request %q", t.kind, rq.Name))
	}
	path := rq.proxiedPath()
	if err := rq.admit(ctx, t.options(path)); err != nil {
		return err
	}
	to, err := t.find(ctx, rq, name, port)
	if err != nil {
		return err
	}
	if path == "" && (rq.HTTP.Method == http.MethodGet || rq.HTTP.Method == http.MethodHead) {
		// The trailing slash makes relative links in the response resolve to the target.
		location := url.URL{Path: rq.HTTP.URL.Path + "/", RawQuery: rq.HTTP.URL.RawQuery}
		rq.Writer.Header().Set("Location", location.String())
		rq.Writer.WriteHeader(http.StatusMovedPermanently)
		return nil
	}
	if path == "" {
		path = "/"
	}
	if to.outside {
		return s.passOut(ctx, rq, cmp.Or(scheme, "http"), to.address, path)
	}
	if to.peer != nil {
		return s.passOn(ctx, rq, to.peer, to.prefix+cmp.Or(scheme, "http")+":"+to.path+path, rq.HTTP.URL.Query(), notReached)
	}
	inner := rq.HTTP.Clone(ctx)
	inner.TLS = nil
	inner.URL = &url.URL{Path: path, RawQuery: rq.HTTP.URL.RawQuery}
	if to.port != nil {
		if err := to.port.Arrive(ctx, inner, s.opts.MayWait == nil || s.opts.MayWait(ctx)); err != nil {
			return notReached(err)
		}
		to.handler = to.port.Handler
		if scheme == "https" {
			if err := to.port.Shake(ctx); err != nil { // like upstream's, it verifies no certificate
				return notReached(err)
			}
			inner.TLS = secure.State("")
		}
	}
	if to.handler == nil {
		return notReached(fmt.Errorf("dial tcp %s: connect: connection refused", to.address))
	}
	inner.RequestURI = inner.URL.RequestURI()
	inner.Host = to.address
	inner.Header.Del("Authorization") // meant for the apiserver only
	to.handler.ServeHTTP(rq.Writer, inner)
	return nil
}

// notReached returns the error for a server that is not reached.
func notReached(err error) error {
	return apierrors.NewServiceUnavailable("error trying to reach service: " + err.Error())
}

// proxiedPath returns the rest of the URL's path after the subresource; empty if there is
// nothing, not even a slash.
func (rq *Request) proxiedPath() string {
	before := len([]string{"", "api", "v1", "nodes", "NAME", "proxy"})
	if rq.Namespaced {
		before += len([]string{"namespaces", "NAMESPACE"})
	}
	parts := strings.SplitN(rq.HTTP.URL.EscapedPath(), "/", before+1)
	if len(parts) <= before {
		return ""
	}
	path, err := url.PathUnescape(parts[before])
	if err != nil {
		path = parts[before]
	}
	return "/" + path
}

// podDestination returns a port of a pod: the named one, or the first that a container
// declares.
func (s *Server) podDestination(ctx context.Context, rq *Request, name, port string) (destination, error) {
	pod, err := s.pod(ctx, rq.Namespace, name)
	if err != nil {
		return destination{}, err
	}
	if port == "" {
		for i := range pod.Spec.Containers {
			if ports := pod.Spec.Containers[i].Ports; len(ports) > 0 {
				port = strconv.Itoa(int(ports[0].ContainerPort))
				break
			}
		}
	}
	ip := net.ParseIP(pod.Status.PodIP)
	if ip == nil || !ip.IsGlobalUnicast() {
		return destination{}, apierrors.NewBadRequest("address not allowed")
	}
	if port == "" {
		port = "80"
	}
	return s.listening(ctx, rq, pod, port)
}

// listening returns the handler on a pod's port, if there is one. of is the Service that the request is for, if it is for one.
func (s *Server) listening(ctx context.Context, rq *Request, pod *corev1.Pod, port string, of ...types.NamespacedName) (destination, error) {
	to := destination{address: net.JoinHostPort(pod.Status.PodIP, port)}
	number, numberErr := strconv.ParseUint(port, 10, 16)
	address, err := s.hostOf(ctx, pod, int32(number))
	if err != nil {
		return to, err
	}
	if address != "" {
		return destination{address: address, outside: true}, nil
	}
	if to.peer, err = s.peer(ctx, rq, pod.Spec.NodeName); err != nil || to.peer != nil {
		to.prefix, to.path = "/api/v1/namespaces/"+pod.Namespace+"/pods/", pod.Name+":"+port+"/proxy"
		return to, err
	}
	if numberErr != nil || s.opts.Kubelets == nil {
		return to, nil
	}
	listener, err := s.opts.Kubelets.ReachPorts(pod, of...)
	if err == nil {
		to.port = listener(int32(number))
	}
	if apierrors.IsInternalError(err) { // its node is cut off
		return to, notReached(fmt.Errorf("dial tcp %s: i/o timeout", to.address))
	}
	return to, nil
}

// serviceDestination returns the process outside of the cluster that serves a Service's port, or
// one of the port's endpoints by chance, as upstream.
func (s *Server) serviceDestination(ctx context.Context, rq *Request, name, port string) (destination, error) {
	service, err := read[*corev1.Service](ctx, s, "services", rq.Namespace, name)
	number, notNumber := strconv.ParseInt(port, 10, 64)
	switch {
	case apierrors.IsNotFound(err) && notNumber != nil:
		return destination{}, noEndpoints(name) // upstream reads the Service only for a port's name
	case err != nil:
		return destination{}, err
	case notNumber == nil:
		i := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return int64(p.Port) == number })
		if i < 0 {
			return destination{}, apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", number, name))
		}
		port = service.Spec.Ports[i].Name
	}
	if address := hostaddress.OfNamed(service, port); address != "" {
		return destination{address: address, outside: true}, nil
	}
	endpoints, err := read[*corev1.Endpoints](ctx, s, "endpoints", rq.Namespace, name) // upstream's proxy reads them too
	if apierrors.IsNotFound(err) || err == nil && len(endpoints.Subsets) == 0 {
		return destination{}, noEndpoints(name)
	}
	if err != nil {
		return destination{}, err
	}
	if len(endpoints.Subsets) == 0 {
		return destination{}, noEndpoints(name)
	}
	type candidate struct {
		address *corev1.EndpointAddress
		port    int32
	}
	var candidates []candidate
	for _, subset := range endpoints.Subsets {
		for _, p := range subset.Ports {
			if p.Name != port {
				continue
			}
			for i := range subset.Addresses {
				candidates = append(candidates, candidate{&subset.Addresses[i], p.Port})
			}
		}
	}
	if len(candidates) == 0 {
		return destination{}, noEndpoints(rq.Name)
	}
	chosen := candidates[0]
	if len(candidates) > 1 && s.opts.Chance != nil {
		chosen = candidates[s.opts.Chance(rq.Namespace, name, len(candidates))]
	}
	return s.endpoint(ctx, rq, name, chosen.address, strconv.Itoa(int(chosen.port)))
}

func noEndpoints(service string) error {
	return apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", service))
}

func (s *Server) endpoint(ctx context.Context, rq *Request, service string, address *corev1.EndpointAddress, port string) (destination, error) {
	if ref := address.TargetRef; ref != nil && ref.Kind == "Pod" {
		if pod, err := s.pod(ctx, rq.Namespace, ref.Name); err == nil {
			return s.listening(ctx, rq, pod, port, types.NamespacedName{Namespace: rq.Namespace, Name: service})
		}
	}
	return destination{address: net.JoinHostPort(address.IP, port)}, nil
}

// nodeDestination returns the handler of a node's kubelet.
func (s *Server) nodeDestination(ctx context.Context, rq *Request, name, port string) (destination, error) {
	address, err := s.nodeAddress(ctx, name, port)
	to := destination{address: address}
	if err != nil || port != "" && port != kubeletPort {
		return to, err
	}
	to.prefix, to.path = "/api/v1/nodes/", name+":"+kubeletPort+"/proxy"
	if to.peer, err = s.peer(ctx, rq, name); err != nil || to.peer != nil || s.opts.Kubelets == nil {
		return to, err
	}
	if err := s.dial(ctx, name); err != nil {
		return to, notReached(err)
	}
	to.handler = s.opts.Kubelets.NodeHandler(name)
	return to, nil
}

// nodeAddress returns the address of a port of a node, by default its kubelet's.
func (s *Server) nodeAddress(ctx context.Context, name, port string) (string, error) {
	node, err := read[*corev1.Node](ctx, s, "nodes", "", name)
	if err != nil {
		return "", err
	}
	address := name
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			address = a.Address
		}
	}
	return net.JoinHostPort(address, cmp.Or(port, kubeletPort)), nil
}
