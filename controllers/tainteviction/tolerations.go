package tainteviction

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// comparisonOperators lets tolerations compare numbers (KEP-5471), as the scheduler
// does.
const comparisonOperators = true

// longest is how long a pod may stay: as the strictest of the tolerations says that
// are needed. It is not tolerated if a taint has no toleration at all.
func longest(tolerations []corev1.Toleration, taints []corev1.Taint) (stay time.Duration, forever, tolerated bool) {
	forever = true
	for i := range taints {
		match := slices.IndexFunc(tolerations, func(t corev1.Toleration) bool {
			return t.ToleratesTaint(klog.Logger{}, &taints[i], comparisonOperators)
		})
		if match < 0 {
			return 0, false, false
		}
		seconds := tolerations[match].TolerationSeconds
		if seconds == nil {
			continue
		}
		d := max(0, time.Duration(*seconds)*time.Second)
		if forever || d < stay {
			stay = d
		}
		forever = false
	}
	return stay, forever, true
}

// noExecute are the taints that evict.
func noExecute(n *corev1.Node) []corev1.Taint {
	var taints []corev1.Taint
	for _, t := range n.Spec.Taints {
		if t.Effect == corev1.TaintEffectNoExecute {
			taints = append(taints, t)
		}
	}
	return taints
}
