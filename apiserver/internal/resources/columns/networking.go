package columns

import (
	"fmt"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NetworkPolicy is the Table of networking.k8s.io/v1 NetworkPolicies.
func NetworkPolicy() Table {
	return table(func(n *networkingv1.NetworkPolicy, now time.Time) []any {
		return []any{n.Name, metav1.FormatLabelSelector(&n.Spec.PodSelector), age(n.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Pod-Selector", networkingv1.NetworkPolicySpec{}.SwaggerDoc()["podSelector"]),
		ageColumn(),
	)
}

// Ingress is the Table of networking.k8s.io/v1 Ingresses.
func Ingress() Table {
	return table(func(i *networkingv1.Ingress, now time.Time) []any {
		class := none
		if i.Spec.IngressClassName != nil {
			class = *i.Spec.IngressClassName
		}
		ports := "80"
		if len(i.Spec.TLS) > 0 {
			ports = "80, 443"
		}
		return []any{i.Name, class, ingressHosts(i.Spec.Rules), ingressAddress(i), ports, age(i.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Class", networkingv1.IngressSpec{}.SwaggerDoc()["ingressClassName"]),
		text("Hosts", "The names of the hosts that the ingress is for."),
		text("Address", networkingv1.IngressStatus{}.SwaggerDoc()["loadBalancer"]),
		text("Ports", "The ports on which traffic comes in."),
		ageColumn(),
	)
}

func ingressHosts(rules []networkingv1.IngressRule) string {
	var hosts []string
	for i := range rules {
		if len(hosts) == shownItems {
			return fmt.Sprintf("%s + %d more...", strings.Join(hosts, ","), len(rules)-shownItems)
		}
		if rules[i].Host != "" {
			hosts = append(hosts, rules[i].Host)
		}
	}
	if len(hosts) == 0 {
		return "*"
	}
	return strings.Join(hosts, ",")
}

func ingressAddress(i *networkingv1.Ingress) string {
	var addresses []string
	for _, ingress := range i.Status.LoadBalancer.Ingress {
		if a := orElse(ingress.IP, ingress.Hostname); a != "" {
			addresses = append(addresses, a)
		}
	}
	return strings.Join(addressSet(addresses), ",")
}

// IngressClass is the Table of networking.k8s.io/v1 IngressClasses.
func IngressClass() Table {
	doc := networkingv1.IngressClassSpec{}.SwaggerDoc()
	return table(func(c *networkingv1.IngressClass, now time.Time) []any {
		parameters := none
		if ref := c.Spec.Parameters; ref != nil {
			parameters = ref.Kind
			if ref.APIGroup != nil {
				parameters += "." + *ref.APIGroup
			}
			parameters += "/" + ref.Name
		}
		name := c.Name
		if c.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
			name += markOfDefault
		}
		return []any{name, c.Spec.Controller, parameters, age(c.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Controller", doc["controller"]),
		text("Parameters", doc["parameters"]),
		ageColumn(),
	)
}

// IPAddress is the Table of networking.k8s.io/v1 IPAddresses.
func IPAddress() Table {
	return table(func(a *networkingv1.IPAddress, _ time.Time) []any {
		parent := none
		if ref := a.Spec.ParentRef; ref != nil {
			parent = ref.Resource
			if ref.Group != "" {
				parent += "." + ref.Group
			}
			if ref.Namespace != "" {
				parent += "/" + ref.Namespace
			}
			parent += "/" + ref.Name
		}
		return []any{a.Name, parent}
	},
		nameColumn(),
		text("ParentRef", networkingv1.IPAddressSpec{}.SwaggerDoc()["parentRef"]),
	)
}

// ServiceCIDR is the Table of networking.k8s.io/v1 ServiceCIDRs.
func ServiceCIDR() Table {
	return table(func(s *networkingv1.ServiceCIDR, now time.Time) []any {
		return []any{s.Name, strings.Join(s.Spec.CIDRs, ","), age(s.CreationTimestamp, now)}
	},
		nameColumn(),
		text("CIDRs", networkingv1.ServiceCIDRSpec{}.SwaggerDoc()["cidrs"]),
		ageColumn(),
	)
}
