package services

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/util/webhook"

	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/hostaddress"
)

// Resolver resolves the Service of a webhook to an address that is reachable from this process: the
// address in its annotation minikcm.dev/host, its external name, or an address in its EndpointSlices
// that is not a pod's. Simulated pods serve no network, and cluster IPs are not routed.
type Resolver struct {
	// Objects returns the storage of a resource.
	Objects func(resource schema.GroupVersionResource) *storage.Objects
	// Port returns the handler that answers on the port of a pod; nil: none does. Port itself may be nil.
	Port func(ctx context.Context, pod *corev1.Pod, port int32) http.Handler
	// Chance chooses one of n endpoints of a Service.
	Chance func(namespace, service string, n int) int
}

var _ webhook.ServiceResolver = Resolver{}

// resolveTimeout limits the look-up, because ResolveEndpoint has no context.
const resolveTimeout = time.Minute

// ResolveEndpoint returns the URL of a Service's port. It returns the errors of upstream's resolver,
// and errSimulated.
func (r Resolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	objects := r.Objects(corev1.SchemeGroupVersion.WithResource("services"))
	obj, err := objects.Get(ctx, objects.Key(namespace, name), name)
	if apierrors.IsNotFound(err) {
		return nil, apierrors.NewNotFound(corev1.Resource("service"), name) // upstream's error
	}
	if err != nil {
		return nil, err
	}
	service, ok := obj.(*corev1.Service)
	if !ok {
		return nil, fmt.Errorf("a %T is stored as Service %s/%s", obj, namespace, name)
	}
	if address := hostaddress.Of(service, port); address != "" {
		return &url.URL{Scheme: "https", Host: address}, nil
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return at(service.Spec.ExternalName, port), nil
	}
	servicePort, err := portOf(service, port)
	if err != nil {
		return nil, err
	}
	return r.endpoint(ctx, service, servicePort)
}

func at(host string, port int32) *url.URL {
	return &url.URL{Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(int(port)))}
}

func portOf(service *corev1.Service, port int32) (*corev1.ServicePort, error) {
	for i := range service.Spec.Ports {
		if p := &service.Spec.Ports[i]; p.Port == port {
			return p, nil
		}
	}
	return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", port, service.Name))
}

// Simulated returns the handler of a Service's port in one of its ready pods, chosen at random; nil:
// no pod answers there, or the Service has other endpoints than pods.
func (r Resolver) Simulated(ctx context.Context, namespace, name string, port int32) http.Handler {
	services := r.Objects(corev1.SchemeGroupVersion.WithResource("services"))
	obj, err := services.Get(ctx, services.Key(namespace, name), name)
	service, ok := obj.(*corev1.Service)
	if err != nil || !ok || r.Port == nil || hostaddress.Of(service, port) != "" || service.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	servicePort, err := portOf(service, port)
	if err != nil {
		return nil
	}
	slices, err := r.Objects(discoveryv1.SchemeGroupVersion.WithResource("endpointslices")).KnownIn(ctx, namespace)
	if err != nil {
		return nil
	}
	var found []http.Handler
	for _, obj := range slices {
		slice, ok := obj.(*discoveryv1.EndpointSlice)
		if !ok || slice.Labels[discoveryv1.LabelServiceName] != name {
			continue
		}
		number := slicePort(slice, servicePort.Name)
		for i := range slice.Endpoints {
			if handler := r.portOf(ctx, namespace, &slice.Endpoints[i], number); handler != nil {
				found = append(found, handler)
			}
		}
	}
	switch {
	case len(found) == 0:
		return nil
	case len(found) == 1 || r.Chance == nil:
		return found[0]
	}
	return found[r.Chance(namespace, name, len(found))]
}

// portOf returns the handler of the port of an endpoint, if the endpoint is a ready pod.
func (r Resolver) portOf(ctx context.Context, namespace string, endpoint *discoveryv1.Endpoint, port int32) http.Handler {
	ready := endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
	if !ready || endpoint.TargetRef == nil || endpoint.TargetRef.Kind != "Pod" {
		return nil
	}
	pods := r.Objects(corev1.SchemeGroupVersion.WithResource("pods"))
	obj, err := pods.Get(ctx, pods.Key(namespace, endpoint.TargetRef.Name), endpoint.TargetRef.Name)
	pod, ok := obj.(*corev1.Pod)
	if err != nil || !ok {
		return nil
	}
	return r.Port(ctx, pod, port)
}

// errSimulated is the error for a Service that selects pods.
var errSimulated = errors.New("it selects simulated pods, which serve no network: annotate the pods with minikcm.dev/http, such as \"443 /* allow\", " +
	"or the Service with minikcm.dev/host=HOST:PORT, or use clientConfig.url, a Service of type ExternalName, or one without selector and an EndpointSlice with the address, " +
	"or skip its calls (minikcm up --ignore-simulated-webhooks, or the annotation minikcm.dev/ignore-simulated=true)")

// endpoint returns the first address of a Service that is not a pod's.
func (r Resolver) endpoint(ctx context.Context, service *corev1.Service, port *corev1.ServicePort) (*url.URL, error) {
	slices, err := r.Objects(discoveryv1.SchemeGroupVersion.WithResource("endpointslices")).KnownIn(ctx, service.Namespace)
	if err != nil {
		return nil, err
	}
	simulated := false
	for _, obj := range slices {
		slice, ok := obj.(*discoveryv1.EndpointSlice)
		if !ok || slice.Labels[discoveryv1.LabelServiceName] != service.Name {
			continue
		}
		number := slicePort(slice, port.Name)
		for i := range slice.Endpoints {
			endpoint := &slice.Endpoints[i]
			ready := endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
			switch {
			case endpoint.TargetRef != nil && endpoint.TargetRef.Kind == "Pod":
				simulated = true
			case ready && number > 0 && len(endpoint.Addresses) > 0:
				return at(endpoint.Addresses[0], number), nil
			}
		}
	}
	if simulated {
		return nil, &simulatedError{service}
	}
	return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", service.Name))
}

func slicePort(slice *discoveryv1.EndpointSlice, name string) int32 {
	for i := range slice.Ports {
		p := &slice.Ports[i]
		if p.Port != nil && (p.Name == nil && name == "" || p.Name != nil && *p.Name == name) {
			return *p.Port
		}
	}
	return 0
}
