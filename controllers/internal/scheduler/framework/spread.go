package framework

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// SpreadConstraint is a topology spread constraint.
type SpreadConstraint struct {
	// Hard means DoNotSchedule, otherwise ScheduleAnyway.
	Hard                       bool
	TopologyKey                string
	MaxSkew, MinDomains        int32
	honorAffinity, honorTaints bool
	// Set are the pods that are spread. CountsSelf is set if the pod itself is one of them.
	Set        *PodSet
	CountsSelf bool
	// everyone is set if the selector is empty. It selects none of the pods on nodes, but, as in
	// kube-scheduler, it does select the pod itself and the pods that Shifts is about.
	everyone bool
}

// newSpread parses a pod's constraints. By default a constraint honours the pod's node
// affinity and ignores taints.
func newSpread(pod *corev1.Pod) []SpreadConstraint {
	if len(pod.Spec.TopologySpreadConstraints) == 0 {
		return nil
	}
	all := make([]SpreadConstraint, len(pod.Spec.TopologySpreadConstraints))
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		selector := ParseSelector(c.LabelSelector)
		all[i] = newConstraint(c, NewPodSet(pod.Namespace, selector), selector.Matches(labels.Set(pod.Labels)))
		all[i].everyone = selector.Empty()
	}
	return all
}

func newConstraint(c *corev1.TopologySpreadConstraint, set *PodSet, countsSelf bool) SpreadConstraint {
	parsed := SpreadConstraint{
		Hard:          c.WhenUnsatisfiable == corev1.DoNotSchedule,
		TopologyKey:   c.TopologyKey,
		MaxSkew:       c.MaxSkew,
		MinDomains:    1,
		honorAffinity: c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor,
		honorTaints:   c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
		Set:           set,
		CountsSelf:    countsSelf,
	}
	if c.MinDomains != nil {
		parsed.MinDomains = *c.MinDomains
	}
	return parsed
}

// SpreadOf returns configured default constraints for a pod that has siblings and no constraints
// of its own. They have no selectors.
func SpreadOf(defaults []corev1.TopologySpreadConstraint, siblings *PodSet, p *PodInfo) []SpreadConstraint {
	all := make([]SpreadConstraint, len(defaults))
	for i := range defaults {
		all[i] = newConstraint(&defaults[i], siblings, siblings.Has(p))
	}
	return all
}

// DefaultSpread returns kube-scheduler's default constraints, for pods that have siblings and
// no constraints of their own.
func DefaultSpread(siblings *PodSet) []SpreadConstraint {
	return []SpreadConstraint{
		{TopologyKey: corev1.LabelHostname, MaxSkew: 3, honorAffinity: true, Set: siblings},
		{TopologyKey: corev1.LabelTopologyZone, MaxSkew: 5, honorAffinity: true, Set: siblings},
	}
}

// Shifts reports whether the count changes for pod p if pod o comes to a node that it is nominated to,
// or is removed from its node in the search for victims of a preemption.
func (c *SpreadConstraint) Shifts(p, o *PodInfo) bool {
	return c.Set.Has(o) || c.everyone && p.Pod.Namespace == o.Pod.Namespace
}

// Counts reports whether the constraint of pod p counts the pods on the node.
func (c *SpreadConstraint) Counts(p *PodInfo, n *NodeInfo) bool {
	if c.honorAffinity && p.HasNodeAffinity {
		if match, _ := p.RequiredNodeAffinity.Match(n.Node); !match {
			return false
		}
	}
	return !c.honorTaints || ToleratesAll(p.Pod.Spec.Tolerations, n.HardTaints)
}
