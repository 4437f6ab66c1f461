package framework

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// TermKind distinguishes required and preferred terms.
type TermKind int

const (
	// RequiredAffinity and RequiredAntiAffinity are the required terms.
	RequiredAffinity TermKind = iota
	RequiredAntiAffinity
	// Preferred are the preferred terms of both; preferred anti-affinity terms have negative weights.
	Preferred
)

// AffinityTerm is a term of a pod's affinity or anti-affinity to other pods.
type AffinityTerm struct {
	Kind TermKind
	// Weight is set for a preferred term. The weight of required terms is in the profile.
	Weight      int64
	TopologyKey string
	// namespaces are listed by name, sorted; namespaceSelector adds others; nil: none.
	namespaces        []string
	namespaceSelector labels.Selector
	selector          labels.Selector
	// key is equal for equal terms, whichever pods have them.
	key string
}

// newTerms parses a pod's affinity terms; nil if it has none.
func newTerms(pod *corev1.Pod) []AffinityTerm {
	a := pod.Spec.Affinity
	if a == nil {
		return nil
	}
	var terms []AffinityTerm
	add := func(kind TermKind, weight int64, term *corev1.PodAffinityTerm) {
		terms = append(terms, newTerm(pod, kind, weight, term))
	}
	if a.PodAffinity != nil {
		for i := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			add(RequiredAffinity, 0, &a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i])
		}
		for i := range a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			t := &a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
			add(Preferred, int64(t.Weight), &t.PodAffinityTerm)
		}
	}
	if a.PodAntiAffinity != nil {
		for i := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			add(RequiredAntiAffinity, 0, &a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i])
		}
		for i := range a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			t := &a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
			add(Preferred, -int64(t.Weight), &t.PodAffinityTerm)
		}
	}
	return terms
}

func newTerm(pod *corev1.Pod, kind TermKind, weight int64, term *corev1.PodAffinityTerm) AffinityTerm {
	t := AffinityTerm{
		Kind:        kind,
		Weight:      weight,
		TopologyKey: term.TopologyKey,
		namespaces:  slices.Sorted(slices.Values(term.Namespaces)),
	}
	t.selector = ParseSelector(term.LabelSelector)
	namespaceSelector := ""
	if term.NamespaceSelector != nil {
		t.namespaceSelector = ParseSelector(term.NamespaceSelector)
		namespaceSelector = "\x00" + selectorKey(t.namespaceSelector)
	} else if len(term.Namespaces) == 0 {
		t.namespaces = []string{pod.Namespace}
	}
	t.key = fmt.Sprintf("%d %d %s\x00%s\x00%s\x00%s", kind, weight, t.TopologyKey, strings.Join(t.namespaces, ","), selectorKey(t.selector), namespaceSelector)
	return t
}

// Match returns the pods that the term selects. namespaces returns the labels of all
// namespaces by name; it is called only for a non-empty namespace selector.
func (t *AffinityTerm) Match(namespaces func() map[string]labels.Set) PodMatch {
	if t.namespaceSelector == nil {
		return PodMatch{t.namespaces, t.selector}
	}
	if t.namespaceSelector.Empty() {
		return PodMatch{nil, t.selector}
	}
	names := slices.Clone(t.namespaces)
	for name, set := range namespaces() {
		if t.namespaceSelector.Matches(set) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return PodMatch{append([]string{}, slices.Compact(names)...), t.selector}
}

// Matches reports whether the term selects the pod. namespaces is as in Match.
func (t *AffinityTerm) Matches(pod *corev1.Pod, namespaces func() map[string]labels.Set) bool {
	return t.selector.Matches(labels.Set(pod.Labels)) && (slices.Contains(t.namespaces, pod.Namespace) ||
		t.namespaceSelector != nil && (t.namespaceSelector.Empty() || t.namespaceSelector.Matches(namespaces()[pod.Namespace])))
}

// MayMatch reports whether the term selects the pod if a namespace selector, if it has one,
// matches the pod's namespace.
func (t *AffinityTerm) MayMatch(p *PodInfo) bool {
	return t.selector.Matches(labels.Set(p.Pod.Labels)) && (t.namespaceSelector != nil || slices.Contains(t.namespaces, p.Pod.Namespace))
}
