package validation

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func Role(r *rbacv1.Role) field.ErrorList {
	return validateRules(field.NewPath("rules"), r.Rules, true)
}

func ClusterRole(r *rbacv1.ClusterRole) field.ErrorList {
	errs := validateRules(field.NewPath("rules"), r.Rules, false)
	if r.AggregationRule == nil {
		return errs
	}
	p := field.NewPath("aggregationRule", "clusterRoleSelectors")
	if len(r.AggregationRule.ClusterRoleSelectors) == 0 {
		errs = append(errs, field.Required(p, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	}
	for i := range r.AggregationRule.ClusterRoleSelectors {
		selector := &r.AggregationRule.ClusterRoleSelectors[i]
		errs = append(errs, validateSelector(p.Index(i), selector)...)
		if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
			errs = append(errs, field.Invalid(p.Index(i), selector, "invalid label selector."))
		}
	}
	return errs
}

func validateRules(p *field.Path, rules []rbacv1.PolicyRule, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	for i := range rules {
		errs = append(errs, validateRule(p.Index(i), &rules[i], namespaced)...)
	}
	return errs
}

func validateRule(p *field.Path, r *rbacv1.PolicyRule, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	if len(r.Verbs) == 0 {
		errs = append(errs, field.Required(p.Child("verbs"), "verbs must contain at least one value"))
	}
	if urls := r.NonResourceURLs; len(urls) > 0 {
		if namespaced {
			errs = append(errs, field.Invalid(p.Child("nonResourceURLs"), urls, "namespaced rules cannot apply to non-resource URLs"))
		}
		if len(r.APIGroups)+len(r.Resources)+len(r.ResourceNames) > 0 {
			errs = append(errs, field.Invalid(p.Child("nonResourceURLs"), urls, "rules cannot apply to both regular resources and non-resource URLs"))
		}
		return errs
	}
	if len(r.APIGroups) == 0 {
		errs = append(errs, field.Required(p.Child("apiGroups"), "resource rules must supply at least one api group"))
	}
	if len(r.Resources) == 0 {
		errs = append(errs, field.Required(p.Child("resources"), "resource rules must supply at least one resource"))
	}
	return errs
}

func isPathSegment(name string) []string { return path.IsValidPathSegmentName(name) }

func RoleBinding(b *rbacv1.RoleBinding) field.ErrorList {
	errs := validateRoleRef(&b.RoleRef, "Role", "ClusterRole")
	return append(errs, validateSubjects(b.Subjects, true)...)
}

func ClusterRoleBinding(b *rbacv1.ClusterRoleBinding) field.ErrorList {
	errs := validateRoleRef(&b.RoleRef, "ClusterRole")
	return append(errs, validateSubjects(b.Subjects, false)...)
}

func validateRoleRef(ref *rbacv1.RoleRef, kinds ...string) field.ErrorList {
	p := field.NewPath("roleRef")
	errs := oneOf(p.Child("apiGroup"), ref.APIGroup, rbacv1.GroupName)
	errs = append(errs, oneOf(p.Child("kind"), ref.Kind, kinds...)...)
	return append(errs, requiredOr(p.Child("name"), ref.Name, isPathSegment)...)
}

func validateSubjects(subjects []rbacv1.Subject, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	for i := range subjects {
		errs = append(errs, validateSubject(field.NewPath("subjects").Index(i), &subjects[i], namespaced)...)
	}
	return errs
}

func validateSubject(p *field.Path, s *rbacv1.Subject, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	if s.Name == "" {
		errs = append(errs, field.Required(p.Child("name"), ""))
	}
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		if s.Name != "" {
			errs = append(errs, invalidFor(p.Child("name"), s.Name, apivalidation.ValidateServiceAccountName(s.Name, false))...)
		}
		errs = append(errs, oneOf(p.Child("apiGroup"), s.APIGroup, "")...)
		if !namespaced && s.Namespace == "" {
			errs = append(errs, field.Required(p.Child("namespace"), ""))
		}
		return errs
	case rbacv1.UserKind, rbacv1.GroupKind:
		return append(errs, oneOf(p.Child("apiGroup"), s.APIGroup, rbacv1.GroupName)...)
	}
	return append(errs, oneOf(p.Child("kind"), s.Kind, rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind)...)
}

func RoleBindingUpdate(b, old *rbacv1.RoleBinding) field.ErrorList {
	return sameRole(&b.RoleRef, &old.RoleRef)
}

func ClusterRoleBindingUpdate(b, old *rbacv1.ClusterRoleBinding) field.ErrorList {
	return sameRole(&b.RoleRef, &old.RoleRef)
}

func sameRole(ref, was *rbacv1.RoleRef) field.ErrorList {
	if *ref == *was {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("roleRef"), *ref, "cannot change roleRef")}
}
