package validation

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func PodDisruptionBudget(b *policyv1.PodDisruptionBudget) field.ErrorList {
	spec, p := &b.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		errs = append(errs, field.Invalid(p, *spec, "minAvailable and maxUnavailable cannot be both set"))
	}
	for _, limit := range []struct {
		name  string
		value *intstr.IntOrString
	}{{"minAvailable", spec.MinAvailable}, {"maxUnavailable", spec.MaxUnavailable}} {
		if limit.value != nil {
			errs = append(errs, validateCountOrPercent(p.Child(limit.name), *limit.value)...)
			errs = append(errs, atMostWhole(p.Child(limit.name), *limit.value)...)
		}
	}
	errs = append(errs, validateSelector(p.Child("selector"), spec.Selector)...)
	if policy := spec.UnhealthyPodEvictionPolicy; policy != nil {
		errs = append(errs, oneOf(p.Child("unhealthyPodEvictionPolicy"), *policy, policyv1.AlwaysAllow, policyv1.IfHealthyBudget)...)
	}
	return errs
}

func PodDisruptionBudgetStatus(b, _ *policyv1.PodDisruptionBudget) field.ErrorList {
	s, p := &b.Status, field.NewPath("status")
	errs := metav1validation.ValidateConditions(s.Conditions, p.Child("conditions"))
	for _, n := range []count{
		{"disruptionsAllowed", s.DisruptionsAllowed},
		{"currentHealthy", s.CurrentHealthy},
		{"desiredHealthy", s.DesiredHealthy},
		{"expectedPods", s.ExpectedPods},
	} {
		errs = append(errs, nonNegative(p.Child(n.name), n.value)...)
	}
	return errs
}
