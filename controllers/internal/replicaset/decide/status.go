package decide

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// Conclude returns the status to write after the plan's actions, or nil if the ReplicaSet
// has it already. An error of the actions sets the condition ReplicaFailure, which keeps
// its times and message while its reason is the same and is removed when the actions
// succeed.
func Conclude(rs *appsv1.ReplicaSet, p Plan, actErr error, now time.Time) *appsv1.ReplicaSetStatus {
	status := *p.Status
	had := failureOf(rs)
	failed := actErr != nil && !plan.IsStale(actErr)
	switch {
	case failed && had == nil:
		status.Conditions = append(without(status.Conditions), appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue,
			Reason: failureReason(p), Message: plan.Message(actErr), LastTransitionTime: metav1.NewTime(now),
		})
	case !failed && had != nil && actErr == nil:
		status.Conditions = without(status.Conditions)
	}
	if equality.Semantic.DeepEqual(status, rs.Status) {
		return nil
	}
	return &status
}

func failureReason(p Plan) string {
	for _, action := range p.Actions {
		if action.Verb == plan.Delete {
			return "FailedDelete"
		}
	}
	return "FailedCreate"
}

func failureOf(rs *appsv1.ReplicaSet) *appsv1.ReplicaSetCondition {
	for i := range rs.Status.Conditions {
		if rs.Status.Conditions[i].Type == appsv1.ReplicaSetReplicaFailure {
			return &rs.Status.Conditions[i]
		}
	}
	return nil
}

func without(conditions []appsv1.ReplicaSetCondition) []appsv1.ReplicaSetCondition {
	var kept []appsv1.ReplicaSetCondition
	for _, c := range conditions {
		if c.Type != appsv1.ReplicaSetReplicaFailure {
			kept = append(kept, c)
		}
	}
	return kept
}
