package decide

import (
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
)

// comparisonOperators enables tolerations that compare numbers (KEP-5471), as in the
// scheduler.
const comparisonOperators = true

// longest returns how long a pod may stay: the shortest time among the tolerations that
// match the taints. tolerated is false if a taint has no matching toleration.
func longest(tolerations []corev1.Toleration, taints []corev1.Taint) (stay time.Duration, forever, tolerated bool) {
	forever = true
	for i := range taints {
		match := slices.IndexFunc(tolerations, func(t corev1.Toleration) bool {
			return t.ToleratesTaint(logr.Logger{}, &taints[i], comparisonOperators)
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

// NoExecute returns the node's taints that evict.
func NoExecute(n *corev1.Node) []corev1.Taint {
	var taints []corev1.Taint
	for _, t := range n.Spec.Taints {
		if t.Effect == corev1.TaintEffectNoExecute {
			taints = append(taints, t)
		}
	}
	return taints
}
