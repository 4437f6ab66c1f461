package validation

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podImmutable is the error for a forbidden change of a pod.
const podImmutable = "pod updates may not change fields other than `spec.containers[*].image`," +
	"`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

// PodUpdate allows an update of a pod to change its images, to shorten its
// deadline, to add tolerations, and, while scheduling gates hold it back, to restrict
// where it may run (KEP-3838).
func PodUpdate(pod, old *corev1.Pod) field.ErrorList {
	p := field.NewPath("spec")
	spec, was := &pod.Spec, &old.Spec
	if apiequality.Semantic.DeepEqual(spec, was) {
		return nil
	}
	errs := sameContainers(p, spec, was)
	if len(errs) > 0 {
		return errs
	}
	errs = append(errs, validateDeadlineUpdate(p.Child("activeDeadlineSeconds"), spec.ActiveDeadlineSeconds, was.ActiveDeadlineSeconds)...)
	if len(errs) > 0 && spec.ActiveDeadlineSeconds != nil {
		return errs
	}
	errs = append(errs, onlyAddedTolerations(p.Child("tolerations"), spec.Tolerations, was.Tolerations)...)
	errs = append(errs, onlyRemovedGates(p.Child("schedulingGates"), spec.SchedulingGates, was.SchedulingGates)...)
	rest := withMutableFieldsOf(spec, was)
	if len(was.SchedulingGates) > 0 {
		errs = append(errs, onlyNarrowedSelector(p.Child("nodeSelector"), spec.NodeSelector, was.NodeSelector)...)
		rest.NodeSelector = was.NodeSelector
		if narrows(spec.Affinity, was.Affinity) {
			rest.Affinity = was.Affinity
		}
	}
	if !apiequality.Semantic.DeepEqual(rest, was) {
		errs = append(errs, field.Forbidden(p, podImmutable+"\n"+diff.Diff(was, rest)))
	}
	return errs
}

func sameContainers(p *field.Path, spec, was *corev1.PodSpec) field.ErrorList {
	const message = "pod updates may not add or remove containers"
	switch {
	case len(spec.Containers) != len(was.Containers):
		return field.ErrorList{field.Forbidden(p.Child("containers"), message)}
	case len(spec.InitContainers) != len(was.InitContainers):
		return field.ErrorList{field.Forbidden(p.Child("initContainers"), message)}
	}
	return nil
}

// withMutableFieldsOf returns spec with the mutable fields of was; the remaining
// differences are forbidden.
func withMutableFieldsOf(spec, was *corev1.PodSpec) *corev1.PodSpec {
	rest := spec.DeepCopy()
	for i := range rest.Containers {
		rest.Containers[i].Image = was.Containers[i].Image
	}
	for i := range rest.InitContainers {
		rest.InitContainers[i].Image = was.InitContainers[i].Image
	}
	if rest.ActiveDeadlineSeconds != nil || was.ActiveDeadlineSeconds == nil {
		rest.ActiveDeadlineSeconds = was.ActiveDeadlineSeconds
	}
	if len(onlyAddedTolerations(nil, rest.Tolerations, was.Tolerations)) == 0 {
		rest.Tolerations = was.Tolerations
	}
	rest.SchedulingGates = was.SchedulingGates
	if g, w := rest.TerminationGracePeriodSeconds, was.TerminationGracePeriodSeconds; g != nil && w != nil && *w < 0 && *g == 1 {
		rest.TerminationGracePeriodSeconds = w
	}
	return rest
}

func validateDeadlineUpdate(p *field.Path, deadline, was *int64) field.ErrorList {
	switch {
	case deadline != nil && (*deadline < 0 || *deadline > math.MaxInt32):
		return field.ErrorList{field.Invalid(p, *deadline, validation.InclusiveRangeError(0, math.MaxInt32))}
	case deadline != nil && was != nil && *was < *deadline:
		return field.ErrorList{field.Invalid(p, *deadline, "must be less than or equal to previous value")}
	case deadline == nil && was != nil:
		return field.ErrorList{field.Invalid(p, deadline, "must not update from a positive integer to nil value")}
	}
	return nil
}

// onlyAddedTolerations allows tolerations to be added, and the seconds of an existing
// one to change.
func onlyAddedTolerations(p *field.Path, tolerations, was []corev1.Toleration) field.ErrorList {
	for i := range was {
		kept := slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return t.MatchToleration(&was[i]) })
		if !kept {
			return field.ErrorList{field.Forbidden(p, "existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return nil
}

func onlyRemovedGates(p *field.Path, gates, was []corev1.PodSchedulingGate) field.ErrorList {
	var errs field.ErrorList
	for i, gate := range gates {
		if !slices.Contains(was, gate) {
			errs = append(errs, field.Forbidden(p.Index(i).Child("name"), fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name)))
		}
	}
	return errs
}

func onlyNarrowedSelector(p *field.Path, selector, was map[string]string) field.ErrorList {
	for key, value := range was {
		if now, kept := selector[key]; !kept || now != value {
			return field.ErrorList{field.Invalid(p, selector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)")}
		}
	}
	return nil
}

// narrows reports whether an affinity differs from the old one only by additional
// requirements on the node.
func narrows(affinity, was *corev1.Affinity) bool {
	if was == nil || was.NodeAffinity == nil {
		return affinity == nil || affinity.PodAffinity == nil && affinity.PodAntiAffinity == nil
	}
	if affinity == nil || affinity.NodeAffinity == nil ||
		!apiequality.Semantic.DeepEqual(affinity.PodAffinity, was.PodAffinity) ||
		!apiequality.Semantic.DeepEqual(affinity.PodAntiAffinity, was.PodAntiAffinity) {
		return false
	}
	required, wasRequired := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, was.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	switch {
	case wasRequired == nil:
		return true
	case required == nil || len(required.NodeSelectorTerms) != len(wasRequired.NodeSelectorTerms):
		return false
	}
	for i := range wasRequired.NodeSelectorTerms {
		if !narrowsTerm(&required.NodeSelectorTerms[i], &wasRequired.NodeSelectorTerms[i]) {
			return false
		}
	}
	return true
}

func narrowsTerm(term, was *corev1.NodeSelectorTerm) bool {
	if len(was.MatchExpressions) == 0 && len(was.MatchFields) == 0 {
		// An empty term matches no node: adding to it would widen it.
		return len(term.MatchExpressions) == 0 && len(term.MatchFields) == 0
	}
	return startsWith(term.MatchExpressions, was.MatchExpressions) && startsWith(term.MatchFields, was.MatchFields)
}

func startsWith(requirements, was []corev1.NodeSelectorRequirement) bool {
	return len(requirements) >= len(was) && apiequality.Semantic.DeepEqual(requirements[:len(was)], was)
}
