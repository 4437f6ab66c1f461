package scheduler

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
	"minikcm.dev/minikcm/internal/cause"
)

const reasonPreempted = "Preempted"

// preemptor is the pod or PodGroup that pods are preempted for.
type preemptor struct {
	// kind is "pod" or "podgroup".
	kind      string
	uid       types.UID
	scheduler string
	// where is the node name in events.
	where string
}

// preempt deletes the victims of a preemption and ends the attempt: the pod then waits
// until the victims have left its nominated node.
func (s *Scheduler) preempt(ctx context.Context, a *queue.Attempt, d *plugins.Diagnosis, p plugins.Preemption) {
	pod := a.Info.Pod
	if ctx.Err() != nil || !s.stillPending(pod) {
		s.unnominate(a)
		s.queue.Done(a)
		return
	}
	ctx = cause.With(ctx, cause.Of(pod))
	s.outrank(ctx, a.Info, p.Node)
	err := s.evictAll(ctx, preemptor{kind: "pod", uid: pod.UID, scheduler: pod.Spec.SchedulerName, where: p.Node}, p.Victims)
	if err != nil {
		s.failed(ctx, a, err)
		return
	}
	s.report(ctx, a, corev1.PodReasonUnschedulable, d.Message(), p.Node)
	s.queue.Reject(a)
}

// unnominate removes the nomination of an attempt's pod.
func (s *Scheduler) unnominate(a *queue.Attempt) {
	s.queue.Nominate(a, "")
	if node := s.nominator.Remove(a.Info.Pod.UID); node != "" {
		s.queue.Notify(framework.ClusterEvent{Node: node})
	}
}

// outrank removes the nominations of pods of lower priority that wait for the same node, so
// that they are decided on again.
func (s *Scheduler) outrank(ctx context.Context, p *framework.PodInfo, node string) {
	for _, other := range s.nominator.ByNode()[node] {
		if other.Priority >= p.Priority {
			continue
		}
		s.nominator.Remove(other.Pod.UID)
		known, err := s.pods.Pods(other.Pod.Namespace).Get(other.Pod.Name)
		if err == nil {
			err = s.patchStatus(ctx, known, nil, "", nil)
		}
		if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Cannot clear a nominated node", "pod", klog.KObj(other.Pod))
		}
		s.queue.Outrank(other.Pod.UID)
	}
}

// evictAll evicts pods, one after the other: the order of the writes follows from the decision.
func (s *Scheduler) evictAll(ctx context.Context, by preemptor, victims []*framework.PodInfo) error {
	for _, victim := range victims {
		if err := s.evict(ctx, by, victim.Pod); err != nil {
			return err
		}
	}
	return nil
}

// evict sets the victim's DisruptionTarget condition and deletes it.
func (s *Scheduler) evict(ctx context.Context, by preemptor, victim *corev1.Pod) error {
	if known, err := s.pods.Pods(victim.Namespace).Get(victim.Name); err == nil && known.UID == victim.UID {
		victim = known
	}
	if victim.DeletionTimestamp != nil {
		return nil // already terminating
	}
	err := s.patchStatus(ctx, victim, &corev1.PodCondition{
		Type:               corev1.DisruptionTarget,
		ObservedGeneration: victim.Generation,
		Status:             corev1.ConditionTrue,
		Reason:             corev1.PodReasonPreemptionByScheduler,
		Message:            fmt.Sprintf("%s: preempting to accommodate a higher priority %s", by.scheduler, by.kind),
	}, victim.Status.NominatedNodeName, nil)
	if err == nil {
		err = s.client.CoreV1().Pods(victim.Namespace).Delete(ctx, victim.Name, metav1.DeleteOptions{
			Preconditions: metav1.NewUIDPreconditions(string(victim.UID)),
		})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("preempting pod %s/%s: %w", victim.Namespace, victim.Name, err)
	}
	s.recorders[by.scheduler].Eventf(victim, corev1.EventTypeNormal, reasonPreempted, "Preempted by %s %s on node %s", by.kind, by.uid, by.where)
	return nil
}
