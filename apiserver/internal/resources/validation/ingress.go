package validation

import (
	"fmt"
	"net"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func Ingress(i *networkingv1.Ingress) field.ErrorList {
	spec, p := &i.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		errs = append(errs, field.Invalid(p, spec.Rules, "either `defaultBackend` or `rules` must be specified"))
	}
	if spec.DefaultBackend != nil {
		errs = append(errs, validateIngressBackend(p.Child("defaultBackend"), spec.DefaultBackend)...)
	}
	for j := range spec.Rules {
		errs = append(errs, validateIngressRule(p.Child("rules").Index(j), &spec.Rules[j])...)
	}
	for j := range spec.TLS {
		at := p.Child("tls").Index(j)
		for k, host := range spec.TLS[j].Hosts {
			errs = append(errs, invalidFor(at.Child("hosts").Index(k), host, isHost(host))...)
		}
		errs = append(errs, optional(at.Child("secretName"), spec.TLS[j].SecretName, isDNSSubdomain)...)
	}
	if name := spec.IngressClassName; name != nil {
		errs = append(errs, invalidFor(p.Child("ingressClassName"), *name, isDNSSubdomain(*name))...)
		if old, both := i.Annotations[networkingv1beta1.AnnotationIngressClass]; both && i.ResourceVersion == "" {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "annotations").Child(networkingv1beta1.AnnotationIngressClass), old, "can not be set when the class field is also set"))
		}
	}
	return errs
}

// isHost checks a host name, which may be a wildcard ("*.example.com").
func isHost(host string) []string {
	if strings.Contains(host, "*") {
		return validation.IsWildcardDNS1123Subdomain(host)
	}
	return validation.IsDNS1123Subdomain(host)
}

func validateIngressRule(p *field.Path, r *networkingv1.IngressRule) field.ErrorList {
	var errs field.ErrorList
	if r.Host != "" {
		if net.ParseIP(r.Host) != nil {
			errs = append(errs, field.Invalid(p.Child("host"), r.Host, "must be a DNS name, not an IP address"))
		}
		errs = append(errs, invalidFor(p.Child("host"), r.Host, isHost(r.Host))...)
	}
	if r.HTTP == nil {
		return errs
	}
	at := p.Child("http", "paths")
	if len(r.HTTP.Paths) == 0 {
		return append(errs, field.Required(at, ""))
	}
	for i := range r.HTTP.Paths {
		errs = append(errs, validateIngressPath(at.Index(i), &r.HTTP.Paths[i])...)
		if r.HTTP.Paths[i].PathType == nil {
			continue // upstream stops here too
		}
		errs = append(errs, validateIngressBackend(at.Index(i).Child("backend"), &r.HTTP.Paths[i].Backend)...)
	}
	return errs
}

func validateIngressPath(p *field.Path, path *networkingv1.HTTPIngressPath) field.ErrorList {
	if path.PathType == nil {
		return field.ErrorList{field.Required(p.Child("pathType"), "pathType must be specified")}
	}
	at := p.Child("path")
	absolute := strings.HasPrefix(path.Path, "/")
	var errs field.ErrorList
	switch *path.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		if !absolute {
			errs = append(errs, field.Invalid(at, path.Path, "must be an absolute path"))
		}
		for _, sequence := range []string{"//", "/./", "/../", "%2f", "%2F"} {
			if strings.Contains(path.Path, sequence) {
				errs = append(errs, field.Invalid(at, path.Path, fmt.Sprintf("must not contain '%s'", sequence)))
			}
		}
		for _, suffix := range []string{"/..", "/."} {
			if strings.HasSuffix(path.Path, suffix) {
				errs = append(errs, field.Invalid(at, path.Path, fmt.Sprintf("cannot end with '%s'", suffix)))
			}
		}
	case networkingv1.PathTypeImplementationSpecific:
		if path.Path != "" && !absolute {
			errs = append(errs, field.Invalid(at, path.Path, "must be an absolute path"))
		}
	default:
		errs = append(errs, oneOf(p.Child("pathType"), *path.PathType,
			networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix)...)
	}
	return errs
}

func validateIngressBackend(p *field.Path, b *networkingv1.IngressBackend) field.ErrorList {
	switch {
	case b.Resource != nil && b.Service != nil:
		return field.ErrorList{field.Invalid(p, "", "cannot set both resource and service backends")}
	case b.Resource != nil:
		return validateTypedReference(p.Child("resource"), b.Resource.Kind, b.Resource.Name, b.Resource.APIGroup)
	case b.Service == nil:
		return field.ErrorList{field.Invalid(p, "", "resource or service backend is required")}
	}
	at, port := p.Child("service"), b.Service.Port
	errs := requiredOr(at.Child("name"), b.Service.Name, func(name string) []string { return apivalidation.NameIsDNS1035Label(name, false) })
	switch {
	case port.Name != "" && port.Number != 0:
		errs = append(errs, field.Invalid(p, "", "cannot set both port name & port number"))
	case port.Name != "":
		errs = append(errs, invalidFor(at.Child("port", "name"), port.Name, validation.IsValidPortName(port.Name))...)
	case port.Number != 0:
		errs = append(errs, validatePort(at.Child("port", "number"), port.Number)...)
	default:
		errs = append(errs, field.Required(p, "port name or number is required"))
	}
	return errs
}

func validateTypedReference(p *field.Path, kind, name string, group *string) field.ErrorList {
	var errs field.ErrorList
	if group != nil {
		errs = append(errs, invalidFor(p.Child("apiGroup"), *group, isDNSSubdomain(*group))...)
	}
	errs = append(errs, requiredOr(p.Child("kind"), kind, isPathSegment)...)
	return append(errs, requiredOr(p.Child("name"), name, isPathSegment)...)
}

func IngressStatus(i, old *networkingv1.Ingress) field.ErrorList {
	var known []string
	for _, ingress := range old.Status.LoadBalancer.Ingress {
		known = append(known, ingress.IP)
	}
	p := field.NewPath("status", "loadBalancer", "ingress")
	var errs field.ErrorList
	for j, ingress := range i.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			errs = append(errs, validation.IsValidIPForLegacyField(p.Index(j).Child("ip"), ingress.IP, true, known)...)
		}
		if ingress.Hostname != "" {
			at := p.Index(j).Child("hostname")
			errs = append(errs, invalidFor(at, ingress.Hostname, isDNSSubdomain(ingress.Hostname))...)
			if net.ParseIP(ingress.Hostname) != nil {
				errs = append(errs, field.Invalid(at, ingress.Hostname, "must be a DNS name, not an IP address"))
			}
		}
	}
	return errs
}
