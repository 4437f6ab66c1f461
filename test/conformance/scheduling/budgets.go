package scheduling

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// addBudgets adds PodDisruptionBudgets, which preemption spares.
func (g *generator) addBudgets() {
	for _, namespace := range g.namespaces {
		for i := range g.IntN(3) {
			b := &policyv1.PodDisruptionBudget{ObjectMeta: g.meta(namespace, fmt.Sprintf("budget-%d", i))}
			b.Spec.Selector, b.Status.DisruptionsAllowed = g.selector(), int32(g.IntN(3))
			for _, o := range g.objects {
				if p, ok := o.(*corev1.Pod); ok && p.Namespace == namespace && g.chance(10) {
					b.Status.DisruptedPods = map[string]metav1.Time{p.Name: p.CreationTimestamp}
				}
			}
			g.add(b)
		}
	}
}
