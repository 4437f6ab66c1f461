package routes

import (
	"cmp"
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Controller is the name that IngressClasses give the simulated data plane.
const Controller = "minikcm.dev/simulated"

// annotationClass names the class of an Ingress that does not state one.
const annotationClass = "kubernetes.io/ingress.class"

// ClassOf returns the name of the class of an Ingress; empty if it has none.
func ClassOf(i *networkingv1.Ingress) string {
	if i.Spec.IngressClassName != nil {
		return *i.Spec.IngressClassName
	}
	return i.Annotations[annotationClass]
}

// compiled are the rules of one Ingress.
type compiled struct {
	class string
	rules []*Rule
	// defaults lead to its default backend: for each of its hosts, and for any.
	defaults     []*Rule
	certificates []*Certificate
}

// kindIngress is the Kind of rules of Ingresses.
const kindIngress = "Ingress"

func compile(i *networkingv1.Ingress) *compiled {
	c := &compiled{class: ClassOf(i)}
	base := Rule{Kind: kindIngress, Object: types.NamespacedName{Namespace: i.Namespace, Name: i.Name}, Created: i.CreationTimestamp.Time}
	hosts := map[string]bool{"": true}
	for n := range i.Spec.Rules {
		given := &i.Spec.Rules[n]
		host := strings.ToLower(given.Host)
		hosts[host] = true
		if given.HTTP == nil {
			continue
		}
		for p := range given.HTTP.Paths {
			path := &given.HTTP.Paths[p]
			rule := base
			rule.Index, rule.Host, rule.Path, rule.Type = len(c.rules), host, cmp.Or(path.Path, "/"), Prefix
			if path.PathType != nil && *path.PathType == networkingv1.PathTypeExact {
				rule.Type = Exact
			}
			rule.Backends = []Backend{backendOf(i.Namespace, &path.Backend)}
			c.rules = append(c.rules, &rule)
		}
	}
	if i.Spec.DefaultBackend != nil {
		for host := range hosts {
			rule := base
			rule.Host, rule.Path, rule.Type, rule.Default = host, "/", Prefix, true
			rule.Backends = []Backend{backendOf(i.Namespace, i.Spec.DefaultBackend)}
			c.defaults = append(c.defaults, &rule)
		}
	}
	c.certificates = certificatesOf(i)
	return c
}

func backendOf(namespace string, b *networkingv1.IngressBackend) Backend {
	switch {
	case b.Service != nil:
		return Backend{Weight: 1, Service: types.NamespacedName{Namespace: namespace, Name: b.Service.Name}, Port: b.Service.Port.Number, PortName: b.Service.Port.Name}
	case b.Resource != nil:
		return Backend{Weight: 1, Invalid: fmt.Sprintf("%s %s: backends that are resources are not supported", b.Resource.Kind, b.Resource.Name)}
	}
	return Backend{Weight: 1, Invalid: "the backend names no Service"}
}

// Problems returns why parts of an Ingress have no effect.
func Problems(i *networkingv1.Ingress) []string {
	c := compile(i)
	var all []string
	for _, r := range c.rules {
		if r.Backends[0].Invalid != "" {
			all = append(all, fmt.Sprintf("%s %s: %s", cmp.Or(r.Host, "any host"), r.Path, r.Backends[0].Invalid))
		}
	}
	for n := range i.Spec.Rules {
		if r := &i.Spec.Rules[n]; i.Spec.DefaultBackend == nil && (r.HTTP == nil || len(r.HTTP.Paths) == 0) {
			all = append(all, fmt.Sprintf("%s: the rule has no paths, and the Ingress no default backend", cmp.Or(r.Host, "any host")))
		}
	}
	if len(c.defaults) > 0 && c.defaults[0].Backends[0].Invalid != "" {
		all = append(all, "default backend: "+c.defaults[0].Backends[0].Invalid)
	}
	return all
}

// Certificate is the Secret with the certificate of hosts.
type Certificate struct {
	Secret types.NamespacedName
	host   string
	// of orders the Certificates of a host.
	of *Rule
}

func certificatesOf(i *networkingv1.Ingress) []*Certificate {
	var list []*Certificate
	of := &Rule{Object: types.NamespacedName{Namespace: i.Namespace, Name: i.Name}, Created: i.CreationTimestamp.Time}
	for n := range i.Spec.TLS {
		given := &i.Spec.TLS[n]
		if given.SecretName == "" {
			continue // the default certificate
		}
		hosts := given.Hosts
		if len(hosts) == 0 {
			hosts = []string{""}
		}
		for _, host := range hosts {
			list = append(list, &Certificate{Secret: types.NamespacedName{Namespace: i.Namespace, Name: given.SecretName}, host: strings.ToLower(host), of: of})
		}
	}
	return list
}
