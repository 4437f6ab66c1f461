package resources

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resolveLabelKeys adds requirements for the keys in matchLabelKeys and
// mismatchLabelKeys, with the values of the new pod's own labels, to the selectors
// beside them (KEP-3633, KEP-3243). A nil selector matches nothing and is not changed.
func resolveLabelKeys(pod *corev1.Pod) {
	for _, term := range podTerms(pod.Spec.Affinity) {
		addLabelKeys(term.LabelSelector, term.MatchLabelKeys, metav1.LabelSelectorOpIn, pod.Labels)
		addLabelKeys(term.LabelSelector, term.MismatchLabelKeys, metav1.LabelSelectorOpNotIn, pod.Labels)
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		addLabelKeys(c.LabelSelector, c.MatchLabelKeys, metav1.LabelSelectorOpIn, pod.Labels)
	}
}

// podTerms returns the terms of affinity and anti-affinity to other pods.
func podTerms(affinity *corev1.Affinity) []*corev1.PodAffinityTerm {
	if affinity == nil {
		return nil
	}
	var terms []*corev1.PodAffinityTerm
	add := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			terms = append(terms, &required[i])
		}
		for i := range preferred {
			terms = append(terms, &preferred[i].PodAffinityTerm)
		}
	}
	if a := affinity.PodAffinity; a != nil {
		add(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := affinity.PodAntiAffinity; a != nil {
		add(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return terms
}

func addLabelKeys(selector *metav1.LabelSelector, keys []string, operator metav1.LabelSelectorOperator, own map[string]string) {
	if selector == nil {
		return
	}
	for _, key := range keys {
		if value, ok := own[key]; ok {
			selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
		}
	}
}

// validateLabelKeys validates the keys beside a selector into which a pod's keys have
// been resolved already: if the selector has a matched key twice, the client has set
// one of them.
func validateLabelKeys(p *field.Path, selector *metav1.LabelSelector, match, mismatch []string) field.ErrorList {
	errs := validateKeys(p.Child("matchLabelKeys"), selector, match)
	errs = append(errs, validateKeys(p.Child("mismatchLabelKeys"), selector, mismatch)...)
	if selector != nil {
		seen := map[string]bool{}
		for key := range selector.MatchLabels {
			seen[key] = true
		}
		for i := range selector.MatchExpressions {
			key := selector.MatchExpressions[i].Key
			if at := slices.Index(match, key); at >= 0 && seen[key] {
				errs = append(errs, field.Invalid(p.Index(at), key, fmt.Sprintf(inBoth, "labelSelector")))
			}
			seen[key] = true
		}
	}
	for i, key := range match {
		if slices.Contains(mismatch, key) {
			errs = append(errs, field.Invalid(p.Child("matchLabelKeys").Index(i), key, fmt.Sprintf(inBoth, "mismatchLabelKeys")))
		}
	}
	return errs
}

const inBoth = "exists in both matchLabelKeys and %s"

func validateKeys(p *field.Path, selector *metav1.LabelSelector, keys []string) field.ErrorList {
	if len(keys) > 0 && selector == nil {
		return field.ErrorList{field.Forbidden(p, "must not be specified when labelSelector is not set")}
	}
	var errs field.ErrorList
	for i, key := range keys {
		errs = append(errs, metav1validation.ValidateLabelName(key, p.Index(i))...)
	}
	return errs
}
