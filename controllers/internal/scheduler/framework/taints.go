package framework

import (
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
)

// ToleratesAll reports whether each of the taints is tolerated.
func ToleratesAll(tolerations []corev1.Toleration, taints []corev1.Taint) bool {
	for i := range taints {
		if !Tolerates(tolerations, &taints[i]) {
			return false
		}
	}
	return true
}

// Tolerates reports whether a toleration matches the taint. It supports the numeric
// operators; the API accepts tolerations with those only if the feature gate is on.
func Tolerates(tolerations []corev1.Toleration, taint *corev1.Taint) bool {
	return schedulinghelper.TolerationsTolerateTaint(logr.Logger{}, tolerations, taint, true)
}
