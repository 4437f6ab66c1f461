package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
	"minikcm.dev/minikcm/internal/cause"
)

// reasonGroupScheduled is the reason of a PodGroup's condition that is true.
const reasonGroupScheduled = "Scheduled"

// endGroup binds the members that were placed or deletes the pods that the group preempts, writes the statuses of the
// members that were not placed, then the status of their PodGroup, and ends the attempt.
func (s *Scheduler) endGroup(ctx context.Context, a *queue.Attempt, d *groupDecision) {
	outcome := queue.Rejected
	switch {
	case d.err != nil:
		outcome = queue.Errored
	case d.message == "":
		outcome = queue.Placed
		s.bindGroup(ctx, d)
	case d.preemption != nil && !d.preemption.ongoing:
		if len(d.preemption.Victims) == 0 {
			outcome = queue.Nominated
		}
		if d.err = s.preemptForGroup(ctx, a, d); d.err != nil {
			outcome = queue.Errored
		}
	}
	for _, m := range a.Members {
		reason, message := d.against(m)
		if message == "" || ctx.Err() != nil {
			continue
		}
		nominated := d.nominationOf(m)
		if pending := s.stillPending(m.Info.Pod); !pending || d.err != nil {
			s.unnominate(m)
			if !pending {
				continue
			}
		}
		s.report(cause.With(ctx, cause.Of(m.Info.Pod)), m, reason, message, nominated)
	}
	if ctx.Err() == nil {
		s.writeGroup(cause.With(ctx, causesOf(a.Members)), d)
	}
	s.queue.EndGroup(a, outcome)
}

// against returns the reason and the message for the condition of a member that was not placed; "" for one that was.
func (d *groupDecision) against(m *queue.Attempt) (reason, message string) {
	if d.err != nil {
		return corev1.PodReasonSchedulerError, d.errorOf(m).Error()
	}
	if own, ok := d.failed[m]; ok {
		return corev1.PodReasonUnschedulable, own.diagnosis.Message()
	}
	switch {
	case d.message == "":
		return "", ""
	case !d.hasPlaced(m):
		return corev1.PodReasonUnschedulable, d.untried
	case d.preemption != nil:
		return corev1.PodReasonUnschedulable, d.message
	}
	return corev1.PodReasonUnschedulable, messageGroup + ", " + d.message
}

// hasPlaced reports whether a node was chosen for a member.
func (d *groupDecision) hasPlaced(m *queue.Attempt) bool {
	return slices.ContainsFunc(d.placed, func(p placed) bool { return p.attempt == m })
}

func causesOf(members []*queue.Attempt) []int64 {
	var causes []int64
	for _, m := range members {
		causes = append(causes, cause.Of(m.Info.Pod)...)
	}
	slices.Sort(causes)
	return causes
}

// writeGroup writes the PodGroup's condition, if it differs. A group that was scheduled once stays so.
func (s *Scheduler) writeGroup(ctx context.Context, d *groupDecision) {
	object, _ := s.groups.get(keyOf(d.object))
	if object == nil || object.UID != d.object.UID {
		return
	}
	condition := metav1.Condition{
		Type: schedulingv1beta1.PodGroupInitiallyScheduled, Status: metav1.ConditionFalse, ObservedGeneration: object.Generation,
		Reason: schedulingv1beta1.PodGroupReasonUnschedulable, Message: d.message, LastTransitionTime: metav1.NewTime(s.clock.Now()),
	}
	switch {
	case d.err != nil:
		condition.Reason, condition.Message = schedulingv1beta1.PodGroupReasonSchedulerError, d.errorOf(nil).Error()
	case d.message == "":
		condition.Status, condition.Reason = metav1.ConditionTrue, reasonGroupScheduled
	}
	if was := meta.FindStatusCondition(object.Status.Conditions, condition.Type); was != nil {
		if was.Status == condition.Status {
			condition.LastTransitionTime = was.LastTransitionTime
		}
		if *was == condition || was.Status == metav1.ConditionTrue && condition.Status != metav1.ConditionTrue {
			return
		}
	}
	written, err := s.patchGroup(ctx, object, condition)
	switch {
	case err == nil:
		s.groups.setObject(written)
	case ctx.Err() == nil && !apierrors.IsNotFound(err):
		klog.FromContext(ctx).Error(err, "Cannot write the condition of a PodGroup", "podGroup", klog.KObj(object))
	}
}

func (s *Scheduler) patchGroup(ctx context.Context, object *schedulingv1beta1.PodGroup, condition metav1.Condition) (*schedulingv1beta1.PodGroup, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": object.UID}, "status": map[string]any{"conditions": []any{condition}},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the status of PodGroup %s: %w", keyOf(object), err)
	}
	return s.client.SchedulingV1beta1().PodGroups(object.Namespace).Patch(ctx, object.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}
