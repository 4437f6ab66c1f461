package validation

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxFailureRules     = 20
	maxExitCodes        = 255
	maxPodConditions    = 20
	maxSuccessRules     = 20
	maxSucceededIndexes = 64 * 1024
	neitherOfRule       = "specifying one of OnExitCodes and OnPodConditions is required"
	bothOfRule          = "specifying both OnExitCodes and OnPodConditions is not supported"
)

func validatePodFailurePolicy(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	var errs field.ErrorList
	rules := spec.PodFailurePolicy.Rules
	if len(rules) > maxFailureRules {
		errs = append(errs, field.TooMany(p.Child("rules"), len(rules), maxFailureRules))
	}
	for i := range rules {
		errs = append(errs, validateFailureRule(p.Child("rules").Index(i), &rules[i], spec)...)
	}
	return errs
}

func validateFailureRule(p *field.Path, rule *batchv1.PodFailurePolicyRule, spec *batchv1.JobSpec) field.ErrorList {
	var errs field.ErrorList
	if rule.Action == batchv1.PodFailurePolicyActionFailIndex {
		if spec.BackoffLimitPerIndex == nil {
			errs = append(errs, field.Invalid(p.Child("action"), rule.Action, "requires the backoffLimitPerIndex to be set"))
		}
	} else {
		errs = append(errs, listedOneOf(p.Child("action"), rule.Action, batchv1.PodFailurePolicyActionCount,
			batchv1.PodFailurePolicyActionFailIndex, batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore)...)
	}
	if rule.OnExitCodes != nil {
		errs = append(errs, validateExitCodes(p.Child("onExitCodes"), rule.OnExitCodes, &spec.Template.Spec)...)
	}
	if n := len(rule.OnPodConditions); n > maxPodConditions {
		errs = append(errs, field.TooMany(p.Child("onPodConditions"), n, maxPodConditions))
	}
	for i := range rule.OnPodConditions {
		condition, at := &rule.OnPodConditions[i], p.Child("onPodConditions").Index(i)
		errs = append(errs, invalidFor(at.Child("type"), string(condition.Type), isQualifiedName(string(condition.Type)))...)
		errs = append(errs, listedOneOf(at.Child("status"), condition.Status, corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown)...)
	}
	switch codes, conditions := rule.OnExitCodes != nil, len(rule.OnPodConditions) > 0; {
	case codes && conditions:
		errs = append(errs, field.Invalid(p, field.OmitValueType{}, bothOfRule))
	case !codes && !conditions:
		errs = append(errs, field.Invalid(p, field.OmitValueType{}, neitherOfRule))
	}
	return errs
}

// listedOneOf is requiredOneOf, but also lists the values if the field is empty.
func listedOneOf[T ~string](p *field.Path, value T, values ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(p, fmt.Sprintf("valid values: %q", values))}
	}
	return oneOf(p, value, values...)
}

func validateExitCodes(p *field.Path, codes *batchv1.PodFailurePolicyOnExitCodesRequirement, pod *corev1.PodSpec) field.ErrorList {
	errs := listedOneOf(p.Child("operator"), codes.Operator, batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn)
	if name := codes.ContainerName; name != nil {
		named := func(c corev1.Container) bool { return c.Name == *name }
		if !slices.ContainsFunc(pod.Containers, named) && !slices.ContainsFunc(pod.InitContainers, named) {
			errs = append(errs, field.Invalid(p.Child("containerName"), *name, "must be one of the container or initContainer names in the pod template"))
		}
	}
	at := p.Child("values")
	switch n := len(codes.Values); {
	case n == 0:
		errs = append(errs, field.Invalid(at, codes.Values, "at least one value is required"))
	case n > maxExitCodes:
		errs = append(errs, field.TooMany(at, n, maxExitCodes))
	}
	for i, code := range codes.Values {
		if codes.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && code == 0 {
			errs = append(errs, field.Invalid(at.Index(i), code, "must not be 0 for the In operator"))
		}
		if slices.Contains(codes.Values[:i], code) {
			errs = append(errs, field.Duplicate(at.Index(i), code))
		}
	}
	if !slices.IsSorted(codes.Values) {
		errs = append(errs, field.Invalid(at, codes.Values, "must be ordered"))
	}
	return errs
}

func validateSuccessPolicy(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	if deref(spec.CompletionMode) != batchv1.IndexedCompletion {
		return field.ErrorList{field.Invalid(p, *spec.SuccessPolicy, "requires indexed completion mode")}
	}
	var errs field.ErrorList
	switch n := len(spec.SuccessPolicy.Rules); {
	case n == 0:
		errs = append(errs, field.Required(p.Child("rules"), "at least one rules must be specified when the successPolicy is specified"))
	case n > maxSuccessRules:
		errs = append(errs, field.TooMany(p.Child("rules"), n, maxSuccessRules))
	}
	for i := range spec.SuccessPolicy.Rules {
		errs = append(errs, validateSuccessRule(p.Child("rules").Index(i), &spec.SuccessPolicy.Rules[i], deref(spec.Completions))...)
	}
	return errs
}

func validateSuccessRule(p *field.Path, rule *batchv1.SuccessPolicyRule, completions int32) field.ErrorList {
	var errs field.ErrorList
	if rule.SucceededCount == nil && rule.SucceededIndexes == nil {
		errs = append(errs, field.Required(p, "at least one of succeededCount or succeededIndexes must be specified"))
	}
	listed := int32(0)
	if text := rule.SucceededIndexes; text != nil {
		at := p.Child("succeededIndexes")
		if len(*text) > maxSucceededIndexes {
			errs = append(errs, field.TooLong(at, *text, maxSucceededIndexes))
		}
		intervals, err := parseIndexes(*text, completions)
		if err != nil {
			errs = append(errs, field.Invalid(at, *text, fmt.Sprintf("error parsing succeededIndexes: %v", err)))
		} else {
			listed = countIndexes(intervals)
		}
	}
	if n := rule.SucceededCount; n != nil {
		at := p.Child("succeededCount")
		errs = append(errs, nonNegative(at, *n)...)
		if *n > completions {
			errs = append(errs, field.Invalid(at, *n, fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions)))
		}
		if rule.SucceededIndexes != nil && *n > listed {
			errs = append(errs, field.Invalid(at, *n, fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", listed)))
		}
	}
	return errs
}
