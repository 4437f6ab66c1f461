package scheduler

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// termKind is what a pod affinity term asks for.
type termKind int

const (
	// requires and avoids are the required terms of affinity and anti-affinity.
	requires termKind = iota
	avoids
	// prefers has the preferred ones of both, by the sign of their weight.
	prefers
)

// requiredWeight is how much a required affinity term of a pod on a node speaks
// for putting a pod there that it matches.
const requiredWeight = 1

// affinityTerm is a term of a pod's affinity or anti-affinity to other pods.
type affinityTerm struct {
	kind        termKind
	weight      int64
	topologyKey string
	// namespaces are those that are named, sorted; namespaceSelector adds others,
	// nil: none.
	namespaces        []string
	namespaceSelector labels.Selector
	selector          labels.Selector
	// key is the same for equal terms, whoever holds them.
	key string
}

// newTerms parses a pod's affinity terms; nil if it has none.
func newTerms(pod *corev1.Pod) []affinityTerm {
	a := pod.Spec.Affinity
	if a == nil {
		return nil
	}
	var terms []affinityTerm
	add := func(kind termKind, weight int64, term *corev1.PodAffinityTerm) {
		terms = append(terms, newTerm(pod, kind, weight, term))
	}
	if a.PodAffinity != nil {
		for i := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			add(requires, requiredWeight, &a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i])
		}
		for i := range a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			t := &a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
			add(prefers, int64(t.Weight), &t.PodAffinityTerm)
		}
	}
	if a.PodAntiAffinity != nil {
		for i := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			add(avoids, 0, &a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i])
		}
		for i := range a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			t := &a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
			add(prefers, -int64(t.Weight), &t.PodAffinityTerm)
		}
	}
	return terms
}

func newTerm(pod *corev1.Pod, kind termKind, weight int64, term *corev1.PodAffinityTerm) affinityTerm {
	t := affinityTerm{
		kind:        kind,
		weight:      weight,
		topologyKey: term.TopologyKey,
		namespaces:  slices.Sorted(slices.Values(term.Namespaces)),
	}
	t.selector = selectorOf(term.LabelSelector)
	namespaceSelector := ""
	if term.NamespaceSelector != nil {
		t.namespaceSelector = selectorOf(term.NamespaceSelector)
		namespaceSelector = "\x00" + selectorKey(t.namespaceSelector)
	} else if len(term.Namespaces) == 0 {
		t.namespaces = []string{pod.Namespace}
	}
	t.key = fmt.Sprintf("%d %d %s\x00%s\x00%s\x00%s", kind, weight, t.topologyKey, strings.Join(t.namespaces, ","), selectorKey(t.selector), namespaceSelector)
	return t
}

// match returns the pods that the term is about, in the namespaces that there
// are now.
func (t *affinityTerm) match(in *Input) podMatch {
	if t.namespaceSelector == nil {
		return podMatch{t.namespaces, t.selector}
	}
	if t.namespaceSelector.Empty() {
		return podMatch{nil, t.selector}
	}
	names := slices.Clone(t.namespaces)
	for name, set := range in.namespaceLabels() {
		if t.namespaceSelector.Matches(set) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return podMatch{append([]string{}, slices.Compact(names)...), t.selector}
}

// matches reports whether the term is about the input's pod.
func (t *affinityTerm) matches(in *Input) bool {
	pod := in.Pod.Pod
	return t.selector.Matches(labels.Set(pod.Labels)) && (slices.Contains(t.namespaces, pod.Namespace) ||
		t.namespaceSelector != nil && (t.namespaceSelector.Empty() || t.namespaceSelector.Matches(in.namespaceLabels()[pod.Namespace])))
}

// mayMatch reports whether the term is about the pod, if its namespace is one of
// those that a selector selects.
func (t *affinityTerm) mayMatch(p *PodInfo) bool {
	return t.selector.Matches(labels.Set(p.Pod.Labels)) && (t.namespaceSelector != nil || slices.Contains(t.namespaces, p.Pod.Namespace))
}

// namespaceLabels asks for them at most once a decision.
func (in *Input) namespaceLabels() map[string]labels.Set {
	if in.namespaces == nil && in.Namespaces != nil {
		in.namespaces = in.Namespaces()
	}
	return in.namespaces
}

// addAffinity adds InterPodAffinity's scores of the nodes at the places: by what
// the pod prefers, and by what pods that are on nodes prefer or require.
func (in *Input) addAffinity(total []int64, places []int) {
	scores := map[string][]int64{} // by topology key and domain
	add := func(t *affinityTerm, counts []int32) {
		d := in.Snapshot.domainsOf(t.topologyKey)
		if scores[t.topologyKey] == nil {
			scores[t.topologyKey] = make([]int64, d.n)
		}
		for domain, pods := range d.sum(in.Snapshot, counts) {
			scores[t.topologyKey][domain] += t.weight * int64(pods)
		}
	}
	for i := range in.Pod.terms {
		if t := &in.Pod.terms[i]; t.kind == prefers {
			add(t, in.Snapshot.countsOf(podSetOf(false, t.match(in))))
		}
	}
	for _, h := range in.Snapshot.tally.held {
		if h.term.weight != 0 && h.term.matches(in) {
			add(h.term, h.counts)
		}
	}
	raw := make([]int64, len(places))
	for key, byDomain := range scores {
		d := in.Snapshot.domainsOf(key)
		for i, place := range places {
			if domain := d.at[place]; domain != none {
				raw[i] += byDomain[domain]
			}
		}
	}
	least, most := slices.Min(raw), slices.Max(raw)
	if least == most {
		return
	}
	for i := range raw {
		total[i] += weightAffinity * int64(maxScore*(float64(raw[i]-least)/float64(most-least)))
	}
}
