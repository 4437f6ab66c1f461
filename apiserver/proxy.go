package apiserver

import (
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
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"minikcm.dev/minikcm/apiserver/response"
)

// kubeletPort is the port of kubelets.
const kubeletPort = "10250"

// destination is the target of a proxied request: a handler, or the address if nothing
// listens there.
type destination struct {
	handler http.Handler
	address string
}

// proxyTarget is what a kind of target does differently.
type proxyTarget struct {
	// options returns the kind and the object that webhooks and policies receive.
	options func(path string) (kind string, options runtime.Object)
	// find returns the target; port is empty for the default.
	find func(ctx context.Context, name, port string) (destination, error)
}

// ServeProxyToPod passes an HTTP request on to a port of a pod.
func (rq *request) ServeProxyToPod(ctx context.Context) error {
	return rq.proxy(ctx, proxyTarget{find: rq.podDestination, options: func(path string) (string, runtime.Object) {
		return "PodProxyOptions", &corev1.PodProxyOptions{Path: path}
	}})
}

// ServeProxyToService passes an HTTP request on to a pod of a Service.
func (rq *request) ServeProxyToService(ctx context.Context) error {
	return rq.proxy(ctx, proxyTarget{find: rq.serviceDestination, options: func(path string) (string, runtime.Object) {
		return "ServiceProxyOptions", &corev1.ServiceProxyOptions{Path: path}
	}})
}

// ServeProxyToNode passes an HTTP request on to a node's kubelet.
func (rq *request) ServeProxyToNode(ctx context.Context) error {
	return rq.proxy(ctx, proxyTarget{find: rq.nodeDestination, options: func(path string) (string, runtime.Object) {
		return "NodeProxyOptions", &corev1.NodeProxyOptions{Path: path}
	}})
}

func (rq *request) proxy(ctx context.Context, target proxyTarget) error {
	// The scheme does not matter, because no bytes are sent over a network.
	_, name, port, ok := utilnet.SplitSchemeNamePort(rq.Name)
	kind := strings.TrimSuffix(rq.row.Plural, "s")
	if !ok {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid %s request %q", kind, rq.Name))
	}
	path := rq.proxiedPath()
	optionsKind, options := target.options(path)
	if err := rq.admitConnect(ctx, optionsKind, options); err != nil {
		return err
	}
	to, err := target.find(ctx, name, port)
	if err != nil {
		return err
	}
	if path == "" && (rq.r.Method == http.MethodGet || rq.r.Method == http.MethodHead) {
		// The trailing slash makes relative links in the response resolve to the target.
		target := url.URL{Path: rq.r.URL.Path + "/", RawQuery: rq.r.URL.RawQuery}
		rq.w.Header().Set("Location", target.String())
		rq.w.WriteHeader(http.StatusMovedPermanently)
		return nil
	}
	if to.handler == nil {
		return apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach service: dial tcp %s: connect: connection refused", to.address))
	}
	if path == "" {
		path = "/"
	}
	inner := rq.r.Clone(ctx)
	inner.URL = &url.URL{Path: path, RawQuery: rq.r.URL.RawQuery}
	inner.RequestURI = inner.URL.RequestURI()
	inner.Host = to.address
	inner.Header.Del("Authorization") // meant for the apiserver only
	to.handler.ServeHTTP(rq.w, inner)
	return nil
}

// proxiedPath returns the rest of the URL's path after the subresource; empty if there is
// nothing, not even a slash.
func (rq *request) proxiedPath() string {
	before := len([]string{"", "api", "v1", "nodes", "NAME", "proxy"})
	if rq.row.Namespaced {
		before += len([]string{"namespaces", "NAMESPACE"})
	}
	parts := strings.SplitN(rq.r.URL.EscapedPath(), "/", before+1)
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
func (rq *request) podDestination(ctx context.Context, name, port string) (destination, error) {
	pod, err := rq.pod(ctx, name)
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
	return rq.listening(pod, port), nil
}

// listening returns the handler on a pod's port, if there is one.
func (rq *request) listening(pod *corev1.Pod, port string) destination {
	to := destination{address: net.JoinHostPort(pod.Status.PodIP, port)}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || rq.server.opts.Containers == nil {
		return to
	}
	if listener, err := rq.server.opts.Containers.OpenPorts(pod); err == nil {
		to.handler = listener(int32(number))
	}
	return to
}

// serviceDestination returns the first endpoint of a Service's port with a handler, or
// else the first endpoint.
func (rq *request) serviceDestination(ctx context.Context, name, port string) (destination, error) {
	obj, err := rq.objects.Get(ctx, rq.objects.Key(rq.Namespace, name), name)
	if err != nil {
		return destination{}, err
	}
	service, ok := obj.(*corev1.Service)
	if !ok {
		return destination{}, response.NotFound()
	}
	if number, err := strconv.ParseInt(port, 10, 64); err == nil {
		i := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return int64(p.Port) == number })
		if i < 0 {
			return destination{}, apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", number, name))
		}
		port = service.Spec.Ports[i].Name
	}
	all := rq.server.stored[corev1.SchemeGroupVersion.WithResource("endpoints")]
	obj, err = all.Get(ctx, all.Key(rq.Namespace, name), name)
	if apierrors.IsNotFound(err) {
		return destination{}, apierrors.NewNotFound(rq.groupResource(), name)
	}
	if err != nil {
		return destination{}, err
	}
	endpoints, ok := obj.(*corev1.Endpoints) // upstream's proxy reads them too
	if !ok || len(endpoints.Subsets) == 0 {
		return destination{}, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
	}
	var first destination
	for _, subset := range endpoints.Subsets {
		for _, p := range subset.Ports {
			if p.Name != port {
				continue
			}
			for i := range subset.Addresses {
				to := rq.endpoint(ctx, &subset.Addresses[i], strconv.Itoa(int(p.Port)))
				if to.handler != nil {
					return to, nil
				}
				if first.address == "" {
					first = to
				}
			}
		}
	}
	if first.address == "" {
		return first, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", rq.Name))
	}
	return first, nil
}

func (rq *request) endpoint(ctx context.Context, address *corev1.EndpointAddress, port string) destination { // as above
	if ref := address.TargetRef; ref != nil && ref.Kind == "Pod" {
		if pod, err := rq.pod(ctx, ref.Name); err == nil {
			return rq.listening(pod, port)
		}
	}
	return destination{address: net.JoinHostPort(address.IP, port)}
}

// nodeDestination returns the handler of a node's kubelet.
func (rq *request) nodeDestination(ctx context.Context, name, port string) (destination, error) {
	obj, err := rq.objects.Get(ctx, rq.objects.Key("", name), name)
	if err != nil {
		return destination{}, err
	}
	node, ok := obj.(*corev1.Node)
	if !ok {
		return destination{}, response.NotFound()
	}
	address := name
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			address = a.Address
		}
	}
	if port == "" {
		port = kubeletPort
	}
	to := destination{address: net.JoinHostPort(address, port)}
	if port == kubeletPort && rq.server.opts.Containers != nil {
		to.handler = rq.server.opts.Containers.NodeHandler(name)
	}
	return to, nil
}
