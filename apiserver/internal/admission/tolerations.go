package admission

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// mergeTolerations appends more tolerations to a pod's, without tolerations that another one
// includes: an earlier one that is kept, or a later different one.
func mergeTolerations(own, more []corev1.Toleration) []corev1.Toleration {
	all := append(slices.Clone(own), more...)
	var merged []corev1.Toleration
	for i, t := range all {
		covered := slices.ContainsFunc(merged, func(other corev1.Toleration) bool { return includes(&other, &t) }) ||
			slices.ContainsFunc(all[i+1:], func(later corev1.Toleration) bool {
				return !apiequality.Semantic.DeepEqual(t, later) && includes(&later, &t)
			})
		if !covered {
			merged = append(merged, t)
		}
	}
	return merged
}

// allIncluded reports whether each toleration is included in an allowed one.
func allIncluded(tolerations, allowed []corev1.Toleration) bool {
	for i := range tolerations {
		if !slices.ContainsFunc(allowed, func(a corev1.Toleration) bool { return includes(&a, &tolerations[i]) }) {
			return false
		}
	}
	return true
}

// includes reports whether wide tolerates everything that narrow does.
func includes(wide, narrow *corev1.Toleration) bool {
	if apiequality.Semantic.DeepEqual(wide, narrow) {
		return true
	}
	if narrow.Key != wide.Key && (wide.Key != "" || wide.Operator != corev1.TolerationOpExists) {
		return false
	}
	if narrow.Effect != wide.Effect && wide.Effect != "" {
		return false
	}
	if wide.Effect == corev1.TaintEffectNoExecute && wide.TolerationSeconds != nil &&
		(narrow.TolerationSeconds == nil || *narrow.TolerationSeconds > *wide.TolerationSeconds) {
		return false
	}
	switch wide.Operator {
	case corev1.TolerationOpEqual, "":
		return narrow.Operator == corev1.TolerationOpEqual && narrow.Value == wide.Value
	case corev1.TolerationOpExists:
		return true
	}
	return false
}

// tolerate adds a toleration, or replaces the one that matches the same taints.
func tolerate(pod *corev1.Pod, wanted corev1.Toleration) {
	for i := range pod.Spec.Tolerations {
		if has := &pod.Spec.Tolerations[i]; has.MatchToleration(&wanted) {
			*has = wanted
			return
		}
	}
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, wanted)
}
