package validation

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
)

func ValidatingWebhookConfiguration(c *admissionv1.ValidatingWebhookConfiguration) field.ErrorList {
	var errs field.ErrorList
	var names nameList
	e := &expressions{declared: plugincel.OptionalVariableDeclarations{HasAuthorizer: true}}
	for i := range c.Webhooks {
		p := field.NewPath("webhooks").Index(i)
		errs = append(errs, validateWebhook(p, AsMutating(&c.Webhooks[i]), e)...)
		errs = append(errs, names.add(p.Child("name"), c.Webhooks[i].Name)...)
	}
	return errs
}

func MutatingWebhookConfiguration(c *admissionv1.MutatingWebhookConfiguration) field.ErrorList {
	var errs field.ErrorList
	var names nameList
	e := &expressions{declared: plugincel.OptionalVariableDeclarations{HasAuthorizer: true}}
	for i := range c.Webhooks {
		w, p := &c.Webhooks[i], field.NewPath("webhooks").Index(i)
		errs = append(errs, validateWebhook(p, w, e)...)
		errs = append(errs, names.add(p.Child("name"), w.Name)...)
		if policy := w.ReinvocationPolicy; policy != nil {
			errs = append(errs, oneOf(p.Child("reinvocationPolicy"), *policy, admissionv1.IfNeededReinvocationPolicy, admissionv1.NeverReinvocationPolicy)...)
		}
	}
	return errs
}

func validateWebhook(p *field.Path, w *admissionv1.MutatingWebhook, e *expressions) field.ErrorList {
	errs := validation.IsFullyQualifiedName(p.Child("name"), w.Name)
	errs = append(errs, validateReviewVersions(p.Child("admissionReviewVersions"), w.AdmissionReviewVersions)...)
	for i := range w.Rules {
		errs = append(errs, validateAdmissionRule(p.Child("rules").Index(i), &w.Rules[i])...)
	}
	errs = append(errs, validateFailurePolicy(p.Child("failurePolicy"), w.FailurePolicy)...)
	errs = append(errs, validateMatchPolicy(p.Child("matchPolicy"), w.MatchPolicy)...)
	switch effects := w.SideEffects; {
	case effects == nil:
		errs = append(errs, field.Required(p.Child("sideEffects"), "must specify one of None, NoneOnDryRun"))
	default:
		errs = append(errs, oneOf(p.Child("sideEffects"), *effects, admissionv1.SideEffectClassNone, admissionv1.SideEffectClassNoneOnDryRun)...)
	}
	if s := w.TimeoutSeconds; s != nil && (*s < 1 || *s > 30) {
		errs = append(errs, field.Invalid(p.Child("timeoutSeconds"), *s, "the timeout value must be between 1 and 30 seconds"))
	}
	errs = append(errs, validateSelector(p.Child("namespaceSelector"), w.NamespaceSelector)...)
	errs = append(errs, validateSelector(p.Child("objectSelector"), w.ObjectSelector)...)
	errs = append(errs, validateMatchConditions(p.Child("matchConditions"), w.MatchConditions, e)...)
	at := p.Child("clientConfig")
	switch config := &w.ClientConfig; {
	case (config.URL == nil) == (config.Service == nil):
		errs = append(errs, field.Required(at, "exactly one of url or service is required"))
	case config.URL != nil:
		errs = append(errs, validateWebhookURL(at.Child("url"), *config.URL)...)
	default:
		errs = append(errs, validateWebhookService(at.Child("service"), config.Service)...)
	}
	return errs
}

// reviewVersions are the supported versions of AdmissionReview.
var reviewVersions = []string{"v1", "v1beta1"}

func validateReviewVersions(p *field.Path, versions []string) field.ErrorList {
	if len(versions) == 0 {
		return field.ErrorList{field.Required(p, "must specify one of "+strings.Join(reviewVersions, ", "))}
	}
	var errs field.ErrorList
	var seen nameList
	known := false
	for i, version := range versions {
		errs = append(errs, invalidFor(p.Index(i), version, validation.IsDNS1035Label(version))...)
		if len(seen.add(p.Index(i), version)) > 0 {
			errs = append(errs, field.Invalid(p.Index(i), version, "duplicate version"))
		}
		known = known || slices.Contains(reviewVersions, version)
	}
	if !known {
		errs = append(errs, field.Invalid(p, versions, "must include at least one of "+strings.Join(reviewVersions, ", ")))
	}
	return errs
}

func validateFailurePolicy(p *field.Path, policy *admissionv1.FailurePolicyType) field.ErrorList {
	if policy == nil {
		return nil
	}
	return oneOf(p, *policy, admissionv1.Fail, admissionv1.Ignore)
}

func validateMatchPolicy(p *field.Path, policy *admissionv1.MatchPolicyType) field.ErrorList {
	if policy == nil {
		return nil
	}
	return oneOf(p, *policy, admissionv1.Equivalent, admissionv1.Exact)
}

func validateAdmissionRule(p *field.Path, r *admissionv1.RuleWithOperations) field.ErrorList {
	errs := anyOrSome(p.Child("apiGroups"), r.APIGroups, "", "API groups")
	errs = append(errs, anyOrSome(p.Child("apiVersions"), r.APIVersions, "", "API versions")...)
	for i, version := range r.APIVersions {
		errs = append(errs, requiredNonEmpty(p.Child("apiVersions").Index(i), version)...)
	}
	errs = append(errs, validateRuleResources(p.Child("resources"), r.Resources)...)
	if r.Scope != nil {
		errs = append(errs, oneOf(p.Child("scope"), *r.Scope, admissionv1.AllScopes, admissionv1.ClusterScope, admissionv1.NamespacedScope)...)
	}
	errs = append(errs, anyOrSome(p.Child("operations"), r.Operations, "", "operations")...)
	for i, operation := range r.Operations {
		errs = append(errs, oneOf(p.Child("operations").Index(i), operation,
			admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create, admissionv1.Delete, admissionv1.Update)...)
	}
	return errs
}

// validateRuleResources rejects names that other entries of the list include.
func validateRuleResources(p *field.Path, names []string) field.ErrorList {
	if len(names) == 0 {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	everySub, every := map[string]bool{}, map[string]bool{}
	for i, name := range names {
		resource, sub, has := strings.Cut(name, "/")
		if name == "" {
			errs = append(errs, field.Required(p.Index(i), ""))
		}
		if !has {
			continue
		}
		// Only earlier entries are considered, as upstream.
		if everySub[resource] {
			errs = append(errs, field.Invalid(p.Index(i), name, fmt.Sprintf("if '%s/*' is present, must not specify %s", resource, name)))
		}
		if every[sub] {
			errs = append(errs, field.Invalid(p.Index(i), name, fmt.Sprintf("if '*/%s' is present, must not specify %s", sub, name)))
		}
		everySub[resource] = everySub[resource] || sub == "*"
		every[sub] = every[sub] || resource == "*"
	}
	if len(names) > 1 && slices.Contains(names, "*/*") {
		errs = append(errs, field.Invalid(p, names, "if '*/*' is present, must not specify other resources"))
	}
	whole := func(name string) bool { return !strings.Contains(name, "/") }
	if slices.Contains(names, "*") && slices.ContainsFunc(names, func(name string) bool { return name != "*" && whole(name) }) {
		errs = append(errs, field.Invalid(p, names, "if '*' is present, must not specify other resources without subresources"))
	}
	return errs
}

func validateWebhookURL(p *field.Path, text string) field.ErrorList {
	const form = "; desired format: https://host[/path]"
	u, err := url.Parse(text)
	if err != nil {
		return field.ErrorList{field.Required(p, "url must be a valid URL: "+err.Error()+form)}
	}
	var errs field.ErrorList
	for _, rule := range []struct {
		broken  bool
		message string
	}{
		{u.Scheme != "https", "'https' is the only allowed URL scheme" + form},
		{u.Host == "", "host must be specified" + form},
		{u.User != nil, "user information is not permitted in the URL"},
		{u.Fragment != "", "fragments are not permitted in the URL"},
		{u.RawQuery != "", "query parameters are not permitted in the URL"},
	} {
		if rule.broken {
			errs = append(errs, field.Invalid(p, text, rule.message))
		}
	}
	return errs
}

func validateWebhookService(p *field.Path, s *admissionv1.ServiceReference) field.ErrorList {
	var errs field.ErrorList
	if s.Name == "" {
		errs = append(errs, field.Required(p.Child("name"), "service name is required"))
	}
	if s.Namespace == "" {
		errs = append(errs, field.Required(p.Child("namespace"), "service namespace is required"))
	}
	if len(validation.IsValidPortNum(int(deref(s.Port)))) > 0 {
		errs = append(errs, field.Invalid(p.Child("port"), deref(s.Port), "port is not valid: must be between 1 and 65535, inclusive"))
	}
	if s.Path == nil || *s.Path == "/" || *s.Path == "" {
		return errs
	}
	at, path := p.Child("path"), *s.Path
	if !strings.HasPrefix(path, "/") {
		return append(errs, field.Invalid(at, path, "must start with a '/'"))
	}
	for i, step := range strings.Split(strings.TrimSuffix(path[1:], "/"), "/") {
		for _, message := range isDNSSubdomain(step) {
			errs = append(errs, field.Invalid(at, path, fmt.Sprintf("segment[%d]: %v", i, message)))
		}
	}
	return errs
}

const maxMatchConditions = 64

func validateMatchConditions(p *field.Path, conditions []admissionv1.MatchCondition, e *expressions) field.ErrorList {
	var errs field.ErrorList
	if n := len(conditions); n > maxMatchConditions {
		errs = append(errs, field.TooMany(p, n, maxMatchConditions))
	}
	var names nameList
	for i, c := range conditions {
		at := p.Index(i)
		if strings.TrimSpace(c.Expression) == "" {
			errs = append(errs, field.Required(at.Child("expression"), ""))
		} else {
			errs = append(errs, e.check(at.Child("expression"), c.Expression, e.declared, celgo.BoolType)...)
		}
		if c.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
			continue
		}
		errs = append(errs, invalidFor(at.Child("name"), c.Name, isQualifiedName(c.Name))...)
		errs = append(errs, names.add(at.Child("name"), c.Name)...)
	}
	return errs
}

// AsMutating returns the fields that both kinds of webhooks have.
func AsMutating(w *admissionv1.ValidatingWebhook) *admissionv1.MutatingWebhook {
	return &admissionv1.MutatingWebhook{
		Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
		NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
		AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
	}
}
