package resources

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
