package resources

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func podDisruptionBudgetRow() *Resource {
	kind := policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")
	newBudget := func() runtime.Object { return &policyv1.PodDisruptionBudget{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "poddisruptionbudgets",
		ShortNames:       []string{"pdb"},
		Namespaced:       true,
		New:              newBudget,
		NewList:          func() runtime.Object { return &policyv1.PodDisruptionBudgetList{} },
		Strategy: Strategy{
			AnyFinalizer:              true,
			Generation:                true,
			NameCheck:                 path.ValidatePathSegmentName,
			Validate:                  check(validateBudget),
			ValidateStatusUpdate:      checkUpdate(validateBudgetStatus),
			ForbidUnconditionalUpdate: true,
		},
		Subresources: []Subresource{statusOf(kind, newBudget)},
	}
}

func validateBudget(b *policyv1.PodDisruptionBudget) field.ErrorList {
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

func validateBudgetStatus(b, _ *policyv1.PodDisruptionBudget) field.ErrorList {
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
