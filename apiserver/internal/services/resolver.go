package services

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/util/webhook"

	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/hostaddress"
)

// Resolver resolves the Service of a webhook to an address that is reachable from this process: the
// address in its annotation minikcm.dev/host, its external name, or an address in its EndpointSlices
// that is not a pod's. Cluster IPs are not routed. The name of the Service stands for simulated pods
// whose answers are known, which Callee finds.
type Resolver struct {
	// Objects returns the storage of a resource.
	Objects func(resource schema.GroupVersionResource) *storage.Objects
	// Port returns what a connection to the port of a pod reaches, for a Service. Port itself may be nil.
	Port func(pod *corev1.Pod, port int32, of types.NamespacedName) PodPort
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

// nameOf returns the URL with the name of a Service in place of an address.
func nameOf(namespace, service string, port int32) *url.URL {
	return at(service+"."+namespace+".svc", port)
}

func portOf(service *corev1.Service, port int32) (*corev1.ServicePort, error) {
	for i := range service.Spec.Ports {
		if p := &service.Spec.Ports[i]; p.Port == port {
			return p, nil
		}
	}
	return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", port, service.Name))
}

// errSimulated is the error for a Service that selects pods.
var errSimulated = errors.New("it selects simulated pods, of which it is unknown what they answer: annotate the pods with minikcm.dev/http, such as \"443 /* allow\", " +
	"or the Service with minikcm.dev/host=HOST:PORT, or use clientConfig.url, a Service of type ExternalName, or one without selector and an EndpointSlice with the address, " +
	"or skip its calls (minikcm up --ignore-simulated-webhooks, or the annotation minikcm.dev/ignore-simulated=true)")

// endpoint returns the first address of a Service that is not a pod's.
func (r Resolver) endpoint(ctx context.Context, service *corev1.Service, port *corev1.ServicePort) (*url.URL, error) {
	slices, err := r.Objects(discoveryv1.SchemeGroupVersion.WithResource("endpointslices")).KnownIn(ctx, service.Namespace)
	if err != nil {
		return nil, err
	}
	if address, led := r.process(ctx, service, slices, port.Name); led {
		return &url.URL{Scheme: "https", Host: address}, nil
	}
	simulated, serves := false, false
	for e, number := range endpoints(slices, service.Name, port.Name) {
		switch ready := isReady(e); {
		case e.TargetRef != nil && e.TargetRef.Kind == "Pod":
			simulated = true
			serves = serves || ready || e.Conditions.Serving != nil && *e.Conditions.Serving
		case ready && number > 0 && len(e.Addresses) > 0:
			return at(e.Addresses[0], number), nil
		}
	}
	none := apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", service.Name))
	if simulated && !serves {
		return nil, &simulatedError{service: service, failure: none}
	}
	if simulated {
		to := r.callee(ctx, service, port, nil)
		switch {
		case to == nil:
			return nil, &simulatedError{service: service}
		case to.Refuses():
			return nil, &simulatedError{service: service, failure: to.Refusal(), refused: true}
		}
		return nameOf(service.Namespace, service.Name, port.Port), nil
	}
	return nil, none
}

// endpoints yields the endpoints in the slices of a Service, with the number of its port there; 0: there is none.
func endpoints(slices []runtime.Object, service, port string) iter.Seq2[*discoveryv1.Endpoint, int32] {
	return func(yield func(*discoveryv1.Endpoint, int32) bool) {
		for _, obj := range slices {
			slice, ok := obj.(*discoveryv1.EndpointSlice)
			if !ok || slice.Labels[discoveryv1.LabelServiceName] != service {
				continue
			}
			number := slicePort(slice, port)
			for i := range slice.Endpoints {
				if !yield(&slice.Endpoints[i], number) {
					return
				}
			}
		}
	}
}

func isReady(e *discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }

func slicePort(slice *discoveryv1.EndpointSlice, name string) int32 {
	for i := range slice.Ports {
		p := &slice.Ports[i]
		if p.Port != nil && (p.Name == nil && name == "" || p.Name != nil && *p.Name == name) {
			return *p.Port
		}
	}
	return 0
}
