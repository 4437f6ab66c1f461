package validation

import (
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/client-go/util/jsonpath"
)

func ValidatingAdmissionPolicy(policy *admissionv1.ValidatingAdmissionPolicy) field.ErrorList {
	spec, p := &policy.Spec, field.NewPath("spec")
	e := &expressions{declared: plugincel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}}
	errs := validateFailurePolicy(p.Child("failurePolicy"), spec.FailurePolicy)
	errs = append(errs, validateParamKind(p.Child("paramKind"), spec.ParamKind)...)
	errs = append(errs, validatePolicyMatch(p.Child("matchConstraints"), spec.MatchConstraints)...)
	errs = append(errs, validateMatchConditions(p.Child("matchConditions"), spec.MatchConditions, e)...)
	errs = append(errs, validateVariables(p.Child("variables"), spec.Variables, e)...)
	if len(spec.Validations)+len(spec.AuditAnnotations) == 0 {
		const neither = "validations or auditAnnotations must contain at least one item"
		return append(errs, field.Required(p.Child("validations"), neither), field.Required(p.Child("auditAnnotations"), neither))
	}
	for i := range spec.Validations {
		errs = append(errs, validateValidation(p.Child("validations").Index(i), &spec.Validations[i], e)...)
	}
	var keys nameList
	for i, a := range spec.AuditAnnotations {
		at := p.Child("auditAnnotations").Index(i)
		errs = append(errs, requiredOr(at.Child("key"), a.Key, isQualifiedName)...)
		errs = append(errs, requiredExpression(at.Child("valueExpression"), a.ValueExpression, e, e.declared, celgo.StringType, celgo.NullType)...)
		errs = append(errs, keys.add(at.Child("key"), a.Key)...)
	}
	return errs
}

func requiredExpression(p *field.Path, text string, e *expressions, declared plugincel.OptionalVariableDeclarations, types ...*celgo.Type) field.ErrorList {
	if strings.TrimSpace(text) == "" {
		return field.ErrorList{field.Required(p, "expression is not specified")}
	}
	return e.check(p, text, declared, types...)
}

// denials are the reasons that a validation may give for a rejection.
var denials = []metav1.StatusReason{
	metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonUnauthorized,
}

func validateValidation(p *field.Path, v *admissionv1.Validation, e *expressions) field.ErrorList {
	errs := requiredExpression(p.Child("expression"), v.Expression, e, e.declared, celgo.BoolType)
	message := strings.TrimSpace(v.Message)
	switch {
	case v.Message != "" && message == "":
		errs = append(errs, field.Invalid(p.Child("message"), v.Message, "message must be non-empty if specified"))
	case strings.ContainsAny(message, "\n\r"):
		errs = append(errs, field.Invalid(p.Child("message"), v.Message, "message must not contain line breaks"))
	case strings.ContainsAny(v.Expression, "\n\r") && message == "":
		errs = append(errs, field.Required(p.Child("message"), "message must be specified if expression contains line breaks"))
	}
	if strings.TrimSpace(v.MessageExpression) != "" {
		// The authorizer variable is not available in messages.
		declared := plugincel.OptionalVariableDeclarations{HasParams: e.declared.HasParams}
		errs = append(errs, e.check(p.Child("messageExpression"), v.MessageExpression, declared, celgo.StringType)...)
	}
	if v.Reason != nil {
		errs = append(errs, oneOf(p.Child("reason"), *v.Reason, denials...)...)
	}
	return errs
}

func validateParamKind(p *field.Path, kind *admissionv1.ParamKind) field.ErrorList {
	if kind == nil {
		return nil
	}
	var errs field.ErrorList
	if kind.APIVersion == "" {
		errs = append(errs, field.Required(p.Child("apiVersion"), ""))
	} else if gv, err := schema.ParseGroupVersion(kind.APIVersion); err != nil {
		errs = append(errs, field.Invalid(p.Child("apiVersion"), kind.APIVersion, err.Error()))
	} else {
		errs = append(errs, optional(p.Child("apiVersion"), gv.Group, isDNSSubdomain)...)
		errs = append(errs, invalidFor(p.Child("apiVersion"), gv.Version, validation.IsDNS1035Label(gv.Version))...)
	}
	return append(errs, requiredOr(p.Child("kind"), kind.Kind, func(k string) []string { return validation.IsDNS1035Label(strings.ToLower(k)) })...)
}

// validatePolicyMatch validates the match of a policy, which is required.
func validatePolicyMatch(p *field.Path, m *admissionv1.MatchResources) field.ErrorList {
	if m == nil {
		return field.ErrorList{field.Required(p, "")}
	}
	errs := validateMatch(p, m)
	if len(m.ResourceRules) == 0 {
		errs = append(errs, field.Required(p.Child("resourceRules"), ""))
	}
	return errs
}

func validateMatch(p *field.Path, m *admissionv1.MatchResources) field.ErrorList {
	var errs field.ErrorList
	switch {
	case m.NamespaceSelector == nil:
		errs = append(errs, field.Required(p.Child("namespaceSelector"), ""))
	default:
		errs = append(errs, validateSelector(p.Child("namespaceSelector"), m.NamespaceSelector)...)
	}
	switch {
	case m.ObjectSelector == nil:
		errs = append(errs, field.Required(p.Child("objectSelector"), ""))
	default:
		errs = append(errs, validateSelector(p.Child("objectSelector"), m.ObjectSelector)...)
	}
	for _, part := range []struct {
		name  string
		rules []admissionv1.NamedRuleWithOperations
	}{{"resourceRules", m.ResourceRules}, {"excludeResourceRules", m.ExcludeResourceRules}} {
		for i := range part.rules {
			at := p.Child(part.name).Index(i)
			errs = append(errs, validateAdmissionRule(at, &part.rules[i].RuleWithOperations)...)
			var names nameList
			for j, name := range part.rules[i].ResourceNames {
				errs = append(errs, invalidFor(at.Child("resourceNames").Index(j), name, isPathSegment(name))...)
				errs = append(errs, names.add(at.Child("resourceNames").Index(j), name)...)
			}
		}
	}
	if m.MatchPolicy == nil {
		return append(errs, field.Required(p.Child("matchPolicy"), ""))
	}
	return append(errs, validateMatchPolicy(p.Child("matchPolicy"), m.MatchPolicy)...)
}

func validateVariables(p *field.Path, variables []admissionv1.Variable, e *expressions) field.ErrorList {
	var errs field.ErrorList
	var names nameList
	for i, v := range variables {
		at := p.Index(i)
		if strings.TrimSpace(v.Name) == "" {
			errs = append(errs, field.Required(at.Child("name"), "name is not specified"))
		} else {
			errs = append(errs, invalidFor(at.Child("name"), v.Name, validation.IsCIdentifier(v.Name))...)
		}
		if strings.TrimSpace(v.Expression) == "" {
			errs = append(errs, field.Required(at.Child("expression"), "expression is not specified"))
		} else {
			errs = append(errs, e.variable(at.Child("expression"), v.Name, v.Expression)...)
		}
		errs = append(errs, names.add(at.Child("name"), v.Name)...)
	}
	return errs
}

func ValidatingAdmissionPolicyBinding(b *admissionv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	p := field.NewPath("spec")
	errs := validatePolicyUse(p, b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources)
	actions, at := b.Spec.ValidationActions, p.Child("validationActions")
	if len(actions) == 0 {
		errs = append(errs, field.Required(at, "at least one validation action is required"))
	}
	for i, action := range actions {
		errs = append(errs, oneOf(at.Index(i), action, admissionv1.Audit, admissionv1.Deny, admissionv1.Warn)...)
		if slices.Contains(actions[:i], action) {
			errs = append(errs, field.Duplicate(at.Index(i), action))
		}
	}
	if slices.Contains(actions, admissionv1.Deny) && slices.Contains(actions, admissionv1.Warn) {
		errs = append(errs, field.Invalid(at, actions, "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"))
	}
	return errs
}

func MutatingAdmissionPolicyBinding(b *admissionv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	return validatePolicyUse(field.NewPath("spec"), b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources)
}

func validatePolicyUse(p *field.Path, name string, ref *admissionv1.ParamRef, match *admissionv1.MatchResources) field.ErrorList {
	errs := requiredOr(p.Child("policyName"), name, isDNSSubdomain)
	if ref != nil {
		errs = append(errs, validateParamRef(p.Child("paramRef"), ref)...)
	}
	if match != nil {
		errs = append(errs, validateMatch(p.Child("matchResources"), match)...)
	}
	return errs
}

func validateParamRef(p *field.Path, ref *admissionv1.ParamRef) field.ErrorList {
	errs := optional(p.Child("name"), ref.Name, isPathSegment)
	switch {
	case ref.Name != "" && ref.Selector != nil:
		errs = append(errs,
			field.Forbidden(p.Child("name"), "name and selector are mutually exclusive"),
			field.Forbidden(p.Child("selector"), "name and selector are mutually exclusive"))
	case ref.Name == "" && ref.Selector == nil:
		errs = append(errs, field.Required(p, "one of name or selector must be specified"))
	case ref.Selector != nil:
		errs = append(errs, validateSelector(p.Child("selector"), ref.Selector)...)
	}
	if ref.ParameterNotFoundAction == nil {
		return append(errs, field.Required(p.Child("parameterNotFoundAction"), ""))
	}
	return append(errs, requiredOneOf(p.Child("parameterNotFoundAction"), *ref.ParameterNotFoundAction, admissionv1.AllowAction, admissionv1.DenyAction)...)
}

func MutatingAdmissionPolicy(policy *admissionv1.MutatingAdmissionPolicy) field.ErrorList {
	spec, p := &policy.Spec, field.NewPath("spec")
	e := &expressions{declared: plugincel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}}
	errs := validateFailurePolicy(p.Child("failurePolicy"), spec.FailurePolicy)
	errs = append(errs, validateParamKind(p.Child("paramKind"), spec.ParamKind)...)
	errs = append(errs, validatePolicyMatch(p.Child("matchConstraints"), spec.MatchConstraints)...)
	errs = append(errs, validateMatchConditions(p.Child("matchConditions"), spec.MatchConditions, e)...)
	errs = append(errs, validateVariables(p.Child("variables"), spec.Variables, e)...)
	if len(spec.Mutations) == 0 {
		errs = append(errs, field.Required(p.Child("mutations"), "mutations must contain at least one item"))
	}
	for i := range spec.Mutations {
		errs = append(errs, validateMutation(p.Child("mutations").Index(i), &spec.Mutations[i], e)...)
	}
	return append(errs, requiredOneOf(p.Child("reinvocationPolicy"), spec.ReinvocationPolicy,
		admissionv1.IfNeededReinvocationPolicy, admissionv1.NeverReinvocationPolicy)...)
}

func validateMutation(p *field.Path, m *admissionv1.Mutation, e *expressions) field.ErrorList {
	declared := e.declared
	declared.HasPatchTypes = true
	errs := requiredOneOf(p.Child("patchType"), m.PatchType, admissionv1.PatchTypeApplyConfiguration, admissionv1.PatchTypeJSONPatch)
	if len(errs) > 0 {
		return errs
	}
	for _, of := range []struct {
		patch admissionv1.PatchType
		name  string
		set   bool
	}{
		{admissionv1.PatchTypeApplyConfiguration, "applyConfiguration", m.ApplyConfiguration != nil},
		{admissionv1.PatchTypeJSONPatch, "jsonPatch", m.JSONPatch != nil},
	} {
		switch {
		case m.PatchType == of.patch && !of.set:
			errs = append(errs, field.Required(p.Child(of.name), "must be specified when patchType is "+string(of.patch)))
		case m.PatchType != of.patch && of.set:
			errs = append(errs, field.Invalid(p.Child(of.name), "{"+of.name+"}", "must not be specified when patchType is not "+string(of.patch)))
		}
	}
	if m.ApplyConfiguration != nil {
		errs = append(errs, requiredExpression(p.Child("applyConfiguration", "expression"), m.ApplyConfiguration.Expression, e, declared, celgo.ObjectType("Object"))...)
	}
	if m.JSONPatch != nil {
		errs = append(errs, requiredExpression(p.Child("jsonPatch", "expression"), m.JSONPatch.Expression, e, declared, celgo.ListType(celgo.ObjectType("JSONPatch")))...)
	}
	return errs
}

func ValidatingAdmissionPolicyStatus(policy, _ *admissionv1.ValidatingAdmissionPolicy) field.ErrorList {
	p := field.NewPath("status")
	errs := metav1validation.ValidateConditions(policy.Status.Conditions, p.Child("conditions"))
	if policy.Status.TypeChecking == nil {
		return errs
	}
	for i, w := range policy.Status.TypeChecking.ExpressionWarnings {
		at := p.Child("typeChecking", "expressionWarnings").Index(i)
		errs = append(errs, requiredNonEmpty(at.Child("warning"), w.Warning)...)
		if _, err := jsonpath.Parse("check", "{"+w.FieldRef+"}"); w.FieldRef == "" {
			errs = append(errs, field.Required(at.Child("fieldRef"), ""))
		} else if err != nil {
			errs = append(errs, field.Invalid(at.Child("fieldRef"), w.FieldRef, "must be a valid jsonpath: "+err.Error()))
		}
	}
	return errs
}
