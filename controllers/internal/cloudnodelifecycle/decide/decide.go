package decide

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/simulatedcloud"
)

// Step is the next action for a Node.
type Step int

// The steps of First. Ask means that the cloud has to be asked for the instance.
const (
	Nothing Step = iota
	Untaint
	Ask
)

// First returns the next action for a Node, without reading the cloud.
func First(node *corev1.Node) Step {
	switch {
	case !isReady(node):
		return Ask
	case isTainted(node):
		return Untaint
	}
	return Nothing
}

// Answer is the state of the instance of a Node that is not Ready, as the cloud reports it.
type Answer int

// The answers. Unknown means that the cloud does not know the Node, or could not be asked.
const (
	Unknown Answer = iota
	Runs
	Shutdown
	Missing
)

// Verdict is the action that an Answer leads to.
type Verdict int

// The verdicts.
const (
	Keep Verdict = iota
	Taint
	Delete
)

// Judge returns the action to take on a Node.
func Judge(node *corev1.Node, answer Answer) Verdict {
	switch {
	case isReady(node):
		return Keep
	case answer == Missing:
		return Delete
	case answer == Shutdown && !isTainted(node):
		return Taint
	}
	return Keep
}

// Tainted returns the taints of a Node with the one of a shut down instance.
func Tainted(node *corev1.Node) []corev1.Taint {
	return append(Untainted(node), shutdown())
}

// Untainted returns the taints of a Node without it.
func Untainted(node *corev1.Node) []corev1.Taint {
	taint := shutdown()
	return slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
}

func shutdown() corev1.Taint {
	return corev1.Taint{Key: simulatedcloud.TaintShutdown, Effect: corev1.TaintEffectNoSchedule}
}

func isTainted(node *corev1.Node) bool {
	taint := shutdown()
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
}

// isReady reports whether a Node is Ready. One without the condition is not.
func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
