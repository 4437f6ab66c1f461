package validation

import (
	"fmt"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func FlowSchema(s *flowcontrolv1.FlowSchema) field.ErrorList {
	spec, p := &s.Spec, field.NewPath("spec")
	errs := validatePrecedence(p.Child("matchingPrecedence"), spec.MatchingPrecedence, s.Name)
	if m := spec.DistinguisherMethod; m != nil {
		errs = append(errs, oneOf(p.Child("distinguisherMethod", "type"), m.Type,
			flowcontrolv1.FlowDistinguisherMethodByNamespaceType, flowcontrolv1.FlowDistinguisherMethodByUserType)...)
	}
	at := p.Child("priorityLevelConfiguration", "name")
	if name := spec.PriorityLevelConfiguration.Name; name == "" {
		errs = append(errs, field.Required(at, "must reference a priority level"))
	} else {
		errs = append(errs, invalidFor(at, name, isDNSSubdomain(name))...)
	}
	for i := range spec.Rules {
		errs = append(errs, validateFlowRule(p.Child("rules").Index(i), &spec.Rules[i])...)
	}
	return errs
}

func validatePrecedence(p *field.Path, precedence int32, name string) field.ErrorList {
	switch {
	case precedence <= 0:
		return field.ErrorList{field.Invalid(p, precedence, "must be a positive value")}
	case precedence > flowcontrolv1.FlowSchemaMaxMatchingPrecedence:
		return field.ErrorList{field.Invalid(p, precedence, fmt.Sprintf("must not be greater than %v", flowcontrolv1.FlowSchemaMaxMatchingPrecedence))}
	case precedence == 1 && name != flowcontrolv1.FlowSchemaNameExempt:
		return field.ErrorList{field.Invalid(p, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")}
	}
	return nil
}

func validateFlowRule(p *field.Path, r *flowcontrolv1.PolicyRulesWithSubjects) field.ErrorList {
	var errs field.ErrorList
	if len(r.Subjects) == 0 {
		errs = append(errs, field.Required(p.Child("subjects"), "subjects must contain at least one value"))
	}
	for i := range r.Subjects {
		errs = append(errs, validateFlowSubject(p.Child("subjects").Index(i), &r.Subjects[i])...)
	}
	if len(r.ResourceRules)+len(r.NonResourceRules) == 0 {
		errs = append(errs, field.Required(p, "at least one of resourceRules and nonResourceRules has to be non-empty"))
	}
	for i := range r.ResourceRules {
		errs = append(errs, validateFlowResources(p.Child("resourceRules").Index(i), &r.ResourceRules[i])...)
	}
	for i := range r.NonResourceRules {
		rule, at := &r.NonResourceRules[i], p.Child("nonResourceRules").Index(i)
		errs = append(errs, anyOrSome(at.Child("verbs"), rule.Verbs, "verbs must contain at least one value", "verbs")...)
		errs = append(errs, validateFlowURLs(at.Child("nonResourceURLs"), rule.NonResourceURLs)...)
	}
	return errs
}

// anyOrSome requires either "*" alone or at least one other value.
func anyOrSome[T ~string](p *field.Path, values []T, whenNone, what string) field.ErrorList {
	if len(values) == 0 {
		return field.ErrorList{field.Required(p, whenNone)}
	}
	if len(values) > 1 && slices.Contains(values, "*") {
		return field.ErrorList{field.Invalid(p, values, "if '*' is present, must not specify other "+what)}
	}
	return nil
}

func validateFlowSubject(p *field.Path, s *flowcontrolv1.Subject) field.ErrorList {
	switch s.Kind {
	case flowcontrolv1.SubjectKindServiceAccount, flowcontrolv1.SubjectKindUser, flowcontrolv1.SubjectKindGroup:
	default:
		return oneOf(p.Child("kind"), s.Kind, flowcontrolv1.SubjectKindGroup, flowcontrolv1.SubjectKindServiceAccount, flowcontrolv1.SubjectKindUser)
	}
	var errs field.ErrorList
	for _, of := range []struct {
		kind flowcontrolv1.SubjectKind
		name string
		set  bool
	}{
		{flowcontrolv1.SubjectKindServiceAccount, "serviceAccount", s.ServiceAccount != nil},
		{flowcontrolv1.SubjectKindUser, "user", s.User != nil},
		{flowcontrolv1.SubjectKindGroup, "group", s.Group != nil},
	} {
		switch {
		case s.Kind == of.kind && !of.set:
			errs = append(errs, field.Required(p.Child(of.name), "is required when subject kind is '"+string(of.kind)+"'"))
		case s.Kind != of.kind && of.set:
			errs = append(errs, field.Forbidden(p.Child(of.name), "forbidden when subject kind is not '"+string(of.kind)+"'"))
		}
	}
	switch {
	case s.Kind == flowcontrolv1.SubjectKindUser && s.User != nil:
		errs = append(errs, requiredNonEmpty(p.Child("user", "name"), s.User.Name)...)
	case s.Kind == flowcontrolv1.SubjectKindGroup && s.Group != nil:
		errs = append(errs, requiredNonEmpty(p.Child("group", "name"), s.Group.Name)...)
	case s.Kind == flowcontrolv1.SubjectKindServiceAccount && s.ServiceAccount != nil:
		at := p.Child("serviceAccount")
		if name := s.ServiceAccount.Name; name != "*" {
			errs = append(errs, requiredOr(at.Child("name"), name, isDNSSubdomain)...)
		}
		errs = append(errs, requiredOr(at.Child("namespace"), s.ServiceAccount.Namespace, func(name string) []string { return apivalidation.ValidateNamespaceName(name, false) })...)
	}
	return errs
}

func validateFlowResources(p *field.Path, r *flowcontrolv1.ResourcePolicyRule) field.ErrorList {
	errs := anyOrSome(p.Child("verbs"), r.Verbs, "verbs must contain at least one value", "verbs")
	known := []string{"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"}
	if !slices.Contains(r.Verbs, "*") && slices.ContainsFunc(r.Verbs, func(verb string) bool { return !slices.Contains(known, verb) }) {
		errs = append(errs, field.NotSupported(p.Child("verbs"), strings.Join(r.Verbs, ","), known))
	}
	errs = append(errs, anyOrSome(p.Child("apiGroups"), r.APIGroups, "resource rules must supply at least one api group", "api groups")...)
	errs = append(errs, anyOrSome(p.Child("resources"), r.Resources, "resource rules must supply at least one resource", "resources")...)
	at := p.Child("namespaces")
	if len(r.Namespaces) == 0 && !r.ClusterScope {
		return append(errs, field.Required(at, "resource rules that are not cluster scoped must supply at least one namespace"))
	}
	if len(r.Namespaces) > 0 {
		errs = append(errs, anyOrSome(at, r.Namespaces, "", "namespaces")...)
	}
	for i, name := range r.Namespaces {
		if name != flowcontrolv1.NamespaceEvery {
			errs = append(errs, invalidFor(at.Index(i), name, apivalidation.ValidateNamespaceName(name, false))...)
		}
	}
	return errs
}

func validateFlowURLs(p *field.Path, urls []string) field.ErrorList {
	errs := anyOrSome(p, urls, "nonResourceURLs must contain at least one value", "non-resource URLs")
	for i, url := range urls {
		at := p.Index(i)
		switch {
		case url == "*":
		case url == "":
			errs = append(errs, field.Invalid(at, url, "must not be empty"))
		case !strings.HasPrefix(url, "/"):
			errs = append(errs, field.Invalid(at, url, "must start with slash"))
		case strings.Contains(url, " "):
			errs = append(errs, field.Invalid(at, url, "must not contain white-space"))
		case strings.Contains(url, "//"):
			errs = append(errs, field.Invalid(at, url, "must not contain double slash"))
		case strings.Contains(strings.TrimSuffix(url, "/*"), "*"):
			errs = append(errs, field.Invalid(at, url, "wildcard can only do suffix matching"))
		}
	}
	return errs
}

func FlowSchemaStatus(s, _ *flowcontrolv1.FlowSchema) field.ErrorList {
	return namedConditions(field.NewPath("status", "conditions"), s.Status.Conditions,
		func(c *flowcontrolv1.FlowSchemaCondition) string { return string(c.Type) })
}

// namedConditions requires that each condition of a flow control object has its own
// type.
func namedConditions[C any](p *field.Path, conditions []C, typeOf func(c *C) string) field.ErrorList {
	var errs field.ErrorList
	var types nameList
	for i := range conditions {
		name, at := typeOf(&conditions[i]), p.Index(i).Child("type")
		errs = append(errs, types.add(at, name)...)
		errs = append(errs, requiredNonEmpty(at, name)...)
	}
	return errs
}
