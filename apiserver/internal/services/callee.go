package services

import (
	"context"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/apiserver/internal/outbound"
	"minikcm.dev/minikcm/internal/hostaddress"
	"minikcm.dev/minikcm/internal/network/secure"
)

// PodPort is the end of a connection to a port of a pod.
type PodPort struct {
	// Port has the program that listens; nil: none does, and the connection is refused.
	Port *secure.Port
	// Lost means that the pod's node is cut off, Unknown that what listens is not known, or what it answers.
	Lost, Unknown bool
}

// Callee returns the pod that a call of a Service's port reaches, as kube-proxy chooses it: a ready one, or one that ends but still
// serves if none is ready. It is nil if the Service leads out of the cluster, has no such pod, or nothing is known of their answers.
func (r Resolver) Callee(ctx context.Context, namespace, name string, port int32) *outbound.Callee {
	services := r.Objects(corev1.SchemeGroupVersion.WithResource("services"))
	obj, err := services.Get(ctx, services.Key(namespace, name), name)
	service, ok := obj.(*corev1.Service)
	if err != nil || !ok || hostaddress.Of(service, port) != "" || service.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	servicePort, err := portOf(service, port)
	if err != nil {
		return nil
	}
	return r.callee(ctx, service, servicePort, r.Chance)
}

// callee is Callee for a port of a Service. Without chance, it is the first pod.
func (r Resolver) callee(ctx context.Context, service *corev1.Service, port *corev1.ServicePort, chance func(namespace, service string, n int) int) *outbound.Callee {
	if r.Port == nil {
		return nil
	}
	slices, err := r.Objects(discoveryv1.SchemeGroupVersion.WithResource("endpointslices")).KnownIn(ctx, service.Namespace)
	if err != nil {
		return nil
	}
	if _, led := r.process(ctx, service, slices, port.Name); led {
		return nil
	}
	var ready, ending []PodPort
	for e, number := range endpoints(slices, service.Name, port.Name) {
		isReady, ends := isReady(e), e.Conditions.Serving != nil && *e.Conditions.Serving
		if number == 0 || !isReady && !ends {
			continue
		}
		to, ok := r.podPort(ctx, service, e, number)
		switch {
		case !ok || to.Unknown:
		case isReady:
			ready = append(ready, to)
		default:
			ending = append(ending, to)
		}
	}
	if len(ready) == 0 {
		ready = ending
	}
	if len(ready) == 0 {
		return nil
	}
	chosen := ready[0]
	if len(ready) > 1 && chance != nil {
		chosen = ready[chance(service.Namespace, service.Name, len(ready))]
	}
	return &outbound.Callee{Address: net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(port.Port))), Port: chosen.Port, Lost: chosen.Lost}
}

// pod returns the pod of an endpoint; nil if it is none.
func (r Resolver) pod(ctx context.Context, namespace string, endpoint *discoveryv1.Endpoint) *corev1.Pod {
	if endpoint.TargetRef == nil || endpoint.TargetRef.Kind != "Pod" {
		return nil
	}
	pods := r.Objects(corev1.SchemeGroupVersion.WithResource("pods"))
	obj, err := pods.Get(ctx, pods.Key(namespace, endpoint.TargetRef.Name), endpoint.TargetRef.Name)
	pod, isPod := obj.(*corev1.Pod)
	if err != nil || !isPod {
		return nil
	}
	return pod
}

// podPort returns what a port of an endpoint is; not ok if the endpoint is no pod.
func (r Resolver) podPort(ctx context.Context, service *corev1.Service, endpoint *discoveryv1.Endpoint, port int32) (to PodPort, ok bool) {
	pod := r.pod(ctx, service.Namespace, endpoint)
	if pod == nil {
		return PodPort{}, false
	}
	return r.Port(pod, port, types.NamespacedName{Namespace: service.Namespace, Name: service.Name}), true
}

// process returns the address of the first process of the machine that stands for a ready pod of a Service. Processes are called before
// simulated pods.
func (r Resolver) process(ctx context.Context, service *corev1.Service, slices []runtime.Object, port string) (address string, led bool) {
	for e, number := range endpoints(slices, service.Name, port) {
		if number == 0 || !isReady(e) {
			continue
		}
		if pod := r.pod(ctx, service.Namespace, e); pod != nil {
			if address = hostaddress.OfPort(pod, number); address != "" {
				return address, true
			}
		}
	}
	return "", false
}
