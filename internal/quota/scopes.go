package quota

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// selects reports whether one of the names that an object refers to satisfies a scope
// selector; "" represents an object without references.
func selects(selector corev1.ScopedResourceSelectorRequirement, names ...string) (bool, error) {
	operators := map[corev1.ScopeSelectorOperator]selection.Operator{
		corev1.ScopeSelectorOpIn:           selection.In,
		corev1.ScopeSelectorOpNotIn:        selection.NotIn,
		corev1.ScopeSelectorOpExists:       selection.Exists,
		corev1.ScopeSelectorOpDoesNotExist: selection.DoesNotExist,
	}
	operator, ok := operators[selector.Operator]
	if !ok {
		return false, fmt.Errorf("%q is not a valid scope selector operator", selector.Operator)
	}
	key := string(selector.ScopeName)
	requirement, err := labels.NewRequirement(key, operator, selector.Values)
	if err != nil {
		return false, fmt.Errorf("reading the selector of scope %s: %w", key, err)
	}
	for _, name := range names {
		set := labels.Set{}
		if name != "" {
			set[key] = name
		}
		if requirement.Matches(set) {
			return true, nil
		}
	}
	return false, nil
}

// crossesNamespaces reports whether a pod's affinity refers to pods of other namespaces.
func crossesNamespaces(a *corev1.Affinity) bool {
	if a == nil {
		return false
	}
	var terms []corev1.PodAffinityTerm
	weighted := func(list []corev1.WeightedPodAffinityTerm) {
		for _, w := range list {
			terms = append(terms, w.PodAffinityTerm)
		}
	}
	if p := a.PodAffinity; p != nil {
		terms = append(terms, p.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted(p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		terms = append(terms, p.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted(p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for _, term := range terms {
		if len(term.Namespaces) > 0 || term.NamespaceSelector != nil {
			return true
		}
	}
	return false
}
