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

// Annotation on a Service names the router that it leads to: ingressclass/NAME.
const Annotation = "minikcm.dev/router"

const prefixClass = "ingressclass/"

// The ports of a router of Ingresses.
const (
	HTTPPort  = 80
	HTTPSPort = 443
)

// Router is a simulated data plane, by the name of its IngressClass.
type Router struct{ Name string }

// String names the router.
func (r Router) String() string { return "IngressClass " + r.Name }

// Value returns the value of Annotation.
func (r Router) Value() string { return prefixClass + r.Name }

// RouterOf returns the router that a Service leads to; ok is false if it leads to none.
func RouterOf(s *corev1.Service) (r Router, ok bool) {
	name, ok := strings.CutPrefix(s.Annotations[Annotation], prefixClass)
	return Router{name}, ok && name != ""
}

// Service returns the name of the Service that leads to the router.
func (r Router) Service() types.NamespacedName {
	name := "ingress-" + r.Name
	if len(validation.IsDNS1035Label(name)) > 0 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(r.Name)) // never fails
		name = fmt.Sprintf("ingress-%x", h.Sum64())
	}
	return types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: name}
}

// Served reports whether the class of a router exists and names Controller.
func (t *Table) Served(r Router) bool { return t.served[r.Name] }
