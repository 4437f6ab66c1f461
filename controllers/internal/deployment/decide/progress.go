package decide

import (
	"fmt"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons of the condition Progressing, which are upstream's.
const (
	newCreatedReason   = "NewReplicaSetCreated"
	foundNewReason     = "FoundNewReplicaSet"
	updatedReason      = "ReplicaSetUpdated"
	newAvailableReason = "NewReplicaSetAvailable"
	failedCreateReason = "ReplicaSetCreateError"
	timedOutReason     = "ProgressDeadlineExceeded"
	pausedReason       = "DeploymentPaused"
	resumedReason      = "DeploymentResumed"
)

// hasDeadline reports whether the Deployment has a progress deadline.
func hasDeadline(d *appsv1.Deployment) bool {
	return d.Spec.ProgressDeadlineSeconds != nil && *d.Spec.ProgressDeadlineSeconds != math.MaxInt32
}

// notePause stops the deadline while the Deployment is paused. A rollout that has timed out
// stays timed out.
func (r *rollout) notePause() {
	if !hasDeadline(r.d) {
		return
	}
	c := r.condition(appsv1.DeploymentProgressing)
	if c != nil && c.Reason == timedOutReason {
		return
	}
	noted := c != nil && c.Reason == pausedReason
	switch {
	case r.d.Spec.Paused && !noted:
		r.progress(corev1.ConditionUnknown, pausedReason, "Deployment is paused")
	case !r.d.Spec.Paused && noted:
		r.progress(corev1.ConditionUnknown, resumedReason, "Deployment is resumed")
	}
}

func (r *rollout) progress(status corev1.ConditionStatus, reason, message string) {
	r.setCondition(appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: status, Reason: reason, Message: message})
}

// judgeProgress sets the condition Progressing from the change of the counts, and copies
// the failure condition of the ReplicaSets.
func (r *rollout) judgeProgress() {
	if !hasDeadline(r.d) {
		r.removeCondition(appsv1.DeploymentProgressing)
	}
	c := r.condition(appsv1.DeploymentProgressing)
	done := r.status.Replicas == r.status.UpdatedReplicas && c != nil && c.Reason == newAvailableReason
	if hasDeadline(r.d) && !done {
		switch {
		case complete(r.d, &r.status):
			r.progress(corev1.ConditionTrue, newAvailableReason, r.subject()+" has successfully progressed.")
		case r.progressed():
			r.progressAnew(c)
		case r.timedOut(c):
			r.progress(corev1.ConditionFalse, timedOutReason, r.subject()+" has timed out progressing.")
		}
	}
	r.noteFailure()
	r.plan.RequeueAfter = r.deadlineIn()
}

func (r *rollout) subject() string {
	if r.new != nil {
		return fmt.Sprintf("ReplicaSet %q", r.new.Name)
	}
	return fmt.Sprintf("Deployment %q", r.d.Name)
}

// progressAnew updates the condition even if its reason does not change, because the
// deadline counts from its last update.
func (r *rollout) progressAnew(was *appsv1.DeploymentCondition) {
	c := appsv1.DeploymentCondition{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: updatedReason,
		Message: r.subject() + " is progressing.",
	}
	if was != nil && was.Status == corev1.ConditionTrue {
		c.LastTransitionTime = was.LastTransitionTime
	}
	r.removeCondition(appsv1.DeploymentProgressing)
	r.setCondition(c)
}

// progressed reports whether any count has improved since the last status.
func (r *rollout) progressed() bool {
	was, is := &r.d.Status, &r.status
	return is.UpdatedReplicas > was.UpdatedReplicas ||
		is.Replicas-is.UpdatedReplicas < was.Replicas-was.UpdatedReplicas ||
		is.ReadyReplicas > was.ReadyReplicas ||
		is.AvailableReplicas > was.AvailableReplicas
}

func (r *rollout) timedOut(c *appsv1.DeploymentCondition) bool {
	if c == nil || c.Reason == newAvailableReason {
		return false
	}
	return c.Reason == timedOutReason || r.deadline(c).Before(r.now)
}

func (r *rollout) deadline(c *appsv1.DeploymentCondition) time.Time {
	return c.LastUpdateTime.Add(time.Duration(*r.d.Spec.ProgressDeadlineSeconds) * time.Second)
}

// deadlineIn returns the time until the progress deadline has to be checked; 0: there is no
// need.
func (r *rollout) deadlineIn() time.Duration {
	c := r.condition(appsv1.DeploymentProgressing)
	if !hasDeadline(r.d) || c == nil || c.Reason == timedOutReason || c.Reason == newAvailableReason || complete(r.d, &r.status) {
		return 0
	}
	// One second is added because the condition's time has whole seconds.
	return max(r.deadline(c).Sub(r.now), 0) + time.Second
}

// noteFailure copies the ReplicaFailure condition of a ReplicaSet, preferably the new
// one's.
func (r *rollout) noteFailure() {
	for _, s := range slices.Backward(r.all()) {
		for _, c := range s.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				r.setCondition(appsv1.DeploymentCondition{
					Type: appsv1.DeploymentReplicaFailure, Status: c.Status, Reason: c.Reason, Message: c.Message,
					LastUpdateTime: c.LastTransitionTime, LastTransitionTime: c.LastTransitionTime,
				})
				return
			}
		}
	}
	r.removeCondition(appsv1.DeploymentReplicaFailure)
}

// withCondition returns the conditions with c added. c's times default to now.
func withCondition(conditions []appsv1.DeploymentCondition, c appsv1.DeploymentCondition, now time.Time) []appsv1.DeploymentCondition {
	at := metav1.NewTime(now.Truncate(time.Second))
	for _, was := range conditions {
		if was.Type != c.Type {
			continue
		}
		if was.Status == c.Status && was.Reason == c.Reason {
			return conditions
		}
		if was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
		}
	}
	if c.LastUpdateTime.IsZero() {
		c.LastUpdateTime = at
	}
	if c.LastTransitionTime.IsZero() {
		c.LastTransitionTime = at
	}
	return append(withoutCondition(conditions, c.Type), c)
}

func withoutCondition(conditions []appsv1.DeploymentCondition, t appsv1.DeploymentConditionType) []appsv1.DeploymentCondition {
	var rest []appsv1.DeploymentCondition
	for _, c := range conditions {
		if c.Type != t {
			rest = append(rest, c)
		}
	}
	return rest
}
