package gateways

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/network/routes"
)

// Snapshot has the objects that a decision depends on. All functions are required.
type Snapshot struct {
	Classes  []*Class
	Gateways []*Gateway
	Routes   []*Route
	Grants   []*Grant
	// Namespace returns the labels of a namespace.
	Namespace func(name string) map[string]string
	// Service returns a Service; nil if there is none.
	Service func(types.NamespacedName) *corev1.Service
	// Certified reports whether a Secret has a certificate and its key.
	Certified func(types.NamespacedName) bool
}

// Result has the statuses to write, and the rules.
type Result struct {
	Classes  map[string][]metav1.Condition
	Gateways map[types.NamespacedName]*GatewayResult
	// Routes has the statuses of routes at Gateways of the controller.
	Routes map[types.NamespacedName][]ParentStatus
	// Table has the rules of the Gateways that are served.
	Table map[routes.Router]*routes.Gateway
}

// GatewayResult is the status of a Gateway, and the Service that leads to its router.
type GatewayResult struct {
	Status GatewayStatus
	// Service is nil if the Gateway is not accepted.
	Service *corev1.Service
}

// Decide returns the statuses and rules of the Gateways of routes.Controller.
func Decide(s *Snapshot) *Result {
	r := &Result{Classes: map[string][]metav1.Condition{}, Gateways: map[types.NamespacedName]*GatewayResult{}, Routes: map[types.NamespacedName][]ParentStatus{}, Table: map[routes.Router]*routes.Gateway{}}
	accepted := map[string]bool{}
	for _, c := range s.Classes {
		if c.Spec.ControllerName != routes.Controller {
			continue
		}
		if c.Spec.ParametersRef != nil {
			r.Classes[c.Name] = []metav1.Condition{condition(accepting, false, "InvalidParameters", "the controller has no parameters", c.Generation)}
			continue
		}
		accepted[c.Name] = true
		r.Classes[c.Name] = []metav1.Condition{condition(accepting, true, accepting, "the class is accepted", c.Generation)}
	}
	found := map[types.NamespacedName]*gateway{}
	for _, g := range s.Gateways {
		if accepted[g.Spec.GatewayClassName] {
			found[keyOf(&g.ObjectMeta)] = s.gateway(g)
		}
	}
	ordered := slices.SortedFunc(slices.Values(s.Routes), func(a, b *Route) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, route := range ordered {
		if statuses := s.attach(route, found); len(statuses) > 0 {
			r.Routes[keyOf(&route.ObjectMeta)] = statuses
		}
	}
	for key, g := range found {
		r.Gateways[key] = g.result(s)
		if g.rules != nil {
			r.Table[routes.Router{Namespace: key.Namespace, Name: key.Name}] = g.rules
		}
	}
	return r
}

func keyOf(o *metav1.ObjectMeta) types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
}

// The types of conditions.
const (
	accepting  = "Accepted"
	programmed = "Programmed"
	resolved   = "ResolvedRefs"
	conflicted = "Conflicted"
	// The reasons that several conditions have.
	invalid       = "Invalid"
	notPermitted  = "RefNotPermitted"
	unsupported   = "UnsupportedValue"
	noMatchingOne = "NoMatchingParent"
)

func condition(kind string, holds bool, reason, message string, generation int64) metav1.Condition {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: generation}
}

// permitted reports whether an object may refer to one of another namespace.
func (s *Snapshot) permitted(fromKind, fromNamespace, toGroup, toKind string, to types.NamespacedName) bool {
	if fromNamespace == to.Namespace {
		return true
	}
	return slices.ContainsFunc(s.Grants, func(g *Grant) bool {
		if g.Namespace != to.Namespace {
			return false
		}
		from, target := false, false
		for _, f := range g.Spec.From {
			from = from || f.Group == Group && f.Kind == fromKind && f.Namespace == fromNamespace
		}
		for _, t := range g.Spec.To {
			target = target || t.Group == toGroup && t.Kind == toKind && ptr.Deref(t.Name, to.Name) == to.Name
		}
		return from && target
	})
}
