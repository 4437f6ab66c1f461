package schedulertest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TermOption changes a pod affinity term.
type TermOption func(*corev1.PodAffinityTerm)

// Near returns a term that selects the pods with the label app=app.
func Near(topologyKey, app string, options ...TermOption) corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: topologyKey, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
	for _, o := range options {
		o(&t)
	}
	return t
}

// InNamespaces sets the namespaces of a term.
func InNamespaces(names ...string) TermOption {
	return func(t *corev1.PodAffinityTerm) { t.Namespaces = names }
}

// InNamespacesLabelled selects the namespaces with the label team=team; "" selects all.
func InNamespacesLabelled(team string) TermOption {
	return func(t *corev1.PodAffinityTerm) {
		t.NamespaceSelector = &metav1.LabelSelector{}
		if team != "" {
			t.NamespaceSelector.MatchLabels = map[string]string{"team": team}
		}
	}
}

// AffinityOf returns the pod's affinity, with pod affinity and anti-affinity set.
func AffinityOf(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	if p.Spec.Affinity.PodAffinity == nil {
		p.Spec.Affinity.PodAffinity, p.Spec.Affinity.PodAntiAffinity = &corev1.PodAffinity{}, &corev1.PodAntiAffinity{}
	}
	return p.Spec.Affinity
}

// Requiring sets required affinity terms.
func Requiring(terms ...corev1.PodAffinityTerm) PodOption {
	return func(p *corev1.Pod) {
		AffinityOf(p).PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = terms
	}
}

// Avoiding sets required anti-affinity terms.
func Avoiding(terms ...corev1.PodAffinityTerm) PodOption {
	return func(p *corev1.Pod) {
		AffinityOf(p).PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = terms
	}
}

// Preferring adds a preferred affinity term; with a negative weight, one of anti-affinity.
func Preferring(weight int32, term corev1.PodAffinityTerm) PodOption {
	return func(p *corev1.Pod) {
		a := AffinityOf(p)
		if weight < 0 {
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.WeightedPodAffinityTerm{Weight: -weight, PodAffinityTerm: term})
			return
		}
		a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term})
	}
}
