package decide

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// countReplicas computes the status from the statuses of the ReplicaSets.
func (r *rollout) countReplicas() {
	all := r.all()
	conditions := r.status.Conditions
	terminating, known := int32(0), true
	for _, s := range all {
		if s.Status.TerminatingReplicas == nil {
			known = false
			break
		}
		terminating += *s.Status.TerminatingReplicas
	}
	r.status = appsv1.DeploymentStatus{
		ObservedGeneration: r.d.Generation,
		Replicas:           sum(all, func(s *set) int32 { return s.Status.Replicas }),
		ReadyReplicas:      sum(all, func(s *set) int32 { return s.Status.ReadyReplicas }),
		AvailableReplicas:  sum(all, func(s *set) int32 { return s.Status.AvailableReplicas }),
		CollisionCount:     r.d.Status.CollisionCount,
		Conditions:         conditions,
	}
	if known {
		r.status.TerminatingReplicas = &terminating
	}
	if r.new != nil {
		r.status.UpdatedReplicas = r.new.Status.Replicas
	}
	r.status.UnavailableReplicas = max(sum(all, sizeOf)-r.status.AvailableReplicas, 0)
	r.noteAvailability()
}

func (r *rollout) noteAvailability() {
	c := appsv1.DeploymentCondition{
		Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse,
		Reason: "MinimumReplicasUnavailable", Message: "Deployment does not have minimum availability.",
	}
	if r.status.AvailableReplicas >= r.wanted-r.limits.unavailable {
		c.Status, c.Reason, c.Message = corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability."
	}
	r.setCondition(c)
}

// complete reports whether the rollout is over according to the status: all wanted pods
// have the new template and are available, and there are no others.
func complete(d *appsv1.Deployment, status *appsv1.DeploymentStatus) bool {
	wanted := wantedReplicas(d)
	return status.UpdatedReplicas == wanted && status.Replicas == wanted &&
		status.AvailableReplicas == wanted && status.ObservedGeneration >= d.Generation
}

func conditionOf(status *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	i := slices.IndexFunc(status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &status.Conditions[i]
}

// condition returns the condition in the status being computed, or nil.
func (r *rollout) condition(t appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	return conditionOf(&r.status, t)
}

// setCondition sets a condition, unless one with the same status and reason exists: that
// keeps its times and message. If only the reason changes, the condition keeps its
// transition time.
func (r *rollout) setCondition(c appsv1.DeploymentCondition) {
	r.status.Conditions = withCondition(r.status.Conditions, c, r.now)
}

func (r *rollout) removeCondition(t appsv1.DeploymentConditionType) {
	r.status.Conditions = withoutCondition(r.status.Conditions, t)
}
