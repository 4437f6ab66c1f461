package apiserver

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/apiserver/internal/outbound"
	"minikcm.dev/minikcm/apiserver/internal/services"
)

// resolver returns the Resolver that finds the program behind a Service, outside of the cluster or
// in its pods.
func (s *Server) resolver() services.Resolver {
	return services.Resolver{Objects: s.storedObjects, Chance: s.chooseEndpoint, Port: s.podPort}
}

// podPort returns what a connection of the API server to a port of a pod reaches, for a Service. A pod of another process is unknown, and so is a
// page, which is no answer to a call.
func (s *Server) podPort(pod *corev1.Pod, port int32, of types.NamespacedName) services.PodPort {
	if s.opts.Kubelets == nil {
		return services.PodPort{Unknown: true}
	}
	listener, err := s.opts.Kubelets.ReachPorts(pod, of)
	if err != nil {
		lost := apierrors.IsInternalError(err) // its node is cut off
		return services.PodPort{Lost: lost, Unknown: !lost}
	}
	open := listener(port)
	return services.PodPort{Port: open, Unknown: open != nil && !open.Known}
}

// inside makes calls of Services in simulated pods. waits means that the context of a call is the one of its request.
func (s *Server) inside(waits bool) outbound.Inside {
	calls := outbound.Inside{Find: s.resolver().Callee, Clock: s.opts.Clock}
	if waits {
		calls.MayWait = s.mayWait
	}
	return calls
}

// chooseEndpoint chooses one of n endpoints of a Service.
func (s *Server) chooseEndpoint(namespace, service string, n int) int {
	return s.chance.For("endpoint of a Service", namespace, service).IntN(n)
}
