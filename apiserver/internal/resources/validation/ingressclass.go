package validation

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const maxControllerName = 250

func IngressClass(c *networkingv1.IngressClass) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	if len(c.Spec.Controller) > maxControllerName {
		errs = append(errs, field.TooLong(p.Child("controller"), "", maxControllerName))
	}
	errs = append(errs, validation.IsDomainPrefixedPath(p.Child("controller"), c.Spec.Controller)...)
	if c.Spec.Parameters != nil {
		errs = append(errs, validateIngressParameters(p.Child("parameters"), c.Spec.Parameters)...)
	}
	return errs
}

func validateIngressParameters(p *field.Path, ref *networkingv1.IngressClassParametersReference) field.ErrorList {
	errs := validateTypedReference(p, ref.Kind, ref.Name, ref.APIGroup)
	const namespace, cluster = networkingv1.IngressClassParametersReferenceScopeNamespace, networkingv1.IngressClassParametersReferenceScopeCluster
	switch {
	case ref.Scope == nil:
		return append(errs, field.Required(p.Child("scope"), ""))
	case *ref.Scope == namespace && ref.Namespace == nil:
		return append(errs, field.Required(p.Child("namespace"), "`parameters.scope` is set to 'Namespace'"))
	case *ref.Scope == namespace:
		return append(errs, invalidFor(p.Child("namespace"), *ref.Namespace, isDNSLabel(*ref.Namespace))...)
	case *ref.Scope == cluster && ref.Namespace != nil:
		return append(errs, field.Forbidden(p.Child("namespace"), "`parameters.scope` is set to 'Cluster'"))
	}
	return append(errs, oneOf(p.Child("scope"), *ref.Scope, cluster, namespace)...)
}

func IngressClassUpdate(c, old *networkingv1.IngressClass) field.ErrorList {
	return immutable(field.NewPath("spec", "controller"), c.Spec.Controller, old.Spec.Controller)
}
