package plugins

import (
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
)

// Gang holds the inputs of the plugin GangScheduling, while the pods of a PodGroup get nodes one after the
// other.
type Gang struct {
	// Min is the number of pods that must have nodes.
	Min int
	// Scheduled have one, Remaining have not been decided on.
	Scheduled, Remaining int
}

// MinCount returns the number of pods of a group that must have nodes, so that any of them gets one. For the
// basic policy it is 1.
func MinCount(g *schedulingv1beta1.PodGroup) int {
	if gang := g.Spec.SchedulingPolicy.Gang; gang != nil {
		return int(gang.MinCount)
	}
	return 1
}

// Satisfied reports whether enough pods have nodes.
func (g Gang) Satisfied() bool { return g.Scheduled >= g.Min }

// Impossible returns why not enough pods can get nodes, whatever happens to the remaining ones; "": they can.
func (g Gang) Impossible() string {
	if g.Remaining+g.Scheduled >= g.Min {
		return ""
	}
	return fmt.Sprintf("minCount (%d) cannot be satisfied: %d scheduled, %d remaining", g.Min, g.Scheduled, g.Remaining)
}
