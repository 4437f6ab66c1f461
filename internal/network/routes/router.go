package routes

import (
	"fmt"
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Annotation on a Service names the router that it leads to: ingressclass/NAME, or gateway/NAME for one of the Service's namespace.
const Annotation = "minikcm.dev/router"

const (
	prefixClass   = "ingressclass/"
	prefixGateway = "gateway/"
)

// The ports of a router of Ingresses.
const (
	HTTPPort  = 80
	HTTPSPort = 443
)

// Router is a simulated data plane, by the name of its IngressClass or, with a namespace, of its Gateway.
type Router struct{ Namespace, Name string }

// String names the router.
func (r Router) String() string {
	if r.Namespace != "" {
		return "Gateway " + r.Namespace + "/" + r.Name
	}
	return "IngressClass " + r.Name
}

// Value returns the value of Annotation.
func (r Router) Value() string {
	if r.Namespace != "" {
		return prefixGateway + r.Name
	}
	return prefixClass + r.Name
}

// RouterOf returns the router that a Service leads to; ok is false if it leads to none.
func RouterOf(s *corev1.Service) (r Router, ok bool) {
	value := s.Annotations[Annotation]
	if name, ok := strings.CutPrefix(value, prefixGateway); ok {
		return Router{s.Namespace, name}, name != ""
	}
	name, ok := strings.CutPrefix(value, prefixClass)
	return Router{Name: name}, ok && name != ""
}

// Service returns the name of the Service that leads to the router of an IngressClass.
func (r Router) Service() types.NamespacedName {
	return types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: ServiceName("ingress-"+r.Name, "ingress-")}
}

// ServiceName returns a name if a Service can have it, and otherwise the prefix with a hash of it.
func ServiceName(name, prefix string) string {
	if len(validation.IsDNS1035Label(name)) > 0 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name)) // never fails
		return fmt.Sprintf("%s%x", prefix, h.Sum64())
	}
	return name
}

// ServiceOf returns the name of the Service that leads to a router.
func (t *Table) ServiceOf(r Router) types.NamespacedName {
	if g := t.gateways[r]; g != nil {
		return g.Service
	}
	return r.Service()
}

// Served reports whether a router exists: its class names Controller, or its Gateway is accepted.
func (t *Table) Served(r Router) bool {
	if r.Namespace != "" {
		return t.gateways[r] != nil
	}
	return t.served[r.Name]
}
