package quota

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

// unscoped has the methods of an evaluator of a kind that no scope is for.
type unscoped struct{}

// Constraints requires nothing.
func (unscoped) Constraints([]corev1.ResourceName, runtime.Object) error { return nil }

// Handles reports whether a write can change the usage.
func (unscoped) Handles(a admission.Attributes) bool {
	return a.GetSubresource() == "" && (a.GetOperation() == admission.Create || a.GetOperation() == admission.Update)
}

// MatchingScopes returns none.
func (unscoped) MatchingScopes(runtime.Object, []corev1.ScopedResourceSelectorRequirement) ([]corev1.ScopedResourceSelectorRequirement, error) {
	return nil, nil
}

// UncoveredQuotaScopes returns none.
func (unscoped) UncoveredQuotaScopes(_, _ []corev1.ScopedResourceSelectorRequirement) ([]corev1.ScopedResourceSelectorRequirement, error) {
	return nil, nil
}
