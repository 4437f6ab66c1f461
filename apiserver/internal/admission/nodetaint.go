package admission

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// TaintNodesByCondition taints a new Node, so that no pod is scheduled there before the node
// lifecycle controller has seen its conditions.
type TaintNodesByCondition struct{}

// Mutate implements Mutator.
func (TaintNodesByCondition) Mutate(_ context.Context, a *Attributes) error {
	if a.Operation != Create || a.Subresource != "" {
		return nil
	}
	node, ok := a.Object.(*corev1.Node)
	if !ok {
		return nil
	}
	taint := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
		node.Spec.Taints = append(slices.Clip(node.Spec.Taints), taint)
	}
	return nil
}
