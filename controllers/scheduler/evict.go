package scheduler

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock/cause"
)

const reasonPreempted = "Preempted"

// preempt deletes the victims of a preemption, then ends the attempt: the pod
// waits for the room on its nominated node.
func (s *Scheduler) preempt(ctx context.Context, a *attempt, d *Diagnosis, p Preemption) {
	pod := a.info.Pod
	if ctx.Err() != nil || !s.stillPending(pod) {
		s.unnominate(a)
		s.queue.done(a)
		return
	}
	ctx = cause.With(ctx, cause.Of(pod))
	s.outrank(ctx, a.info, p.Node)
	for _, victim := range p.Victims {
		if err := s.evict(ctx, a.info, victim.Pod, p.Node); err != nil {
			s.failed(ctx, a, err)
			return
		}
	}
	s.report(ctx, a, corev1.PodReasonUnschedulable, d.Message(), p.Node)
	s.queue.reject(a)
}

// unnominate takes back the room that an attempt had asked for.
func (s *Scheduler) unnominate(a *attempt) {
	s.queue.nominate(a, "")
	if node := s.nominations.remove(a.info.Pod.UID); node != "" {
		s.queue.changed(change{node: node})
	}
}

// outrank tells the less important pods that wait for the same node to look for
// another one.
func (s *Scheduler) outrank(ctx context.Context, p *PodInfo, node string) {
	for _, other := range s.nominations.get()[node] {
		if other.Priority >= p.Priority {
			continue
		}
		s.nominations.remove(other.Pod.UID)
		known, err := s.pods.Pods(other.Pod.Namespace).Get(other.Pod.Name)
		if err == nil {
			err = s.patchStatus(ctx, known, nil, "")
		}
		if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Cannot clear a nominated node", "pod", klog.KObj(other.Pod))
		}
		s.queue.outranked(other.Pod.UID)
	}
}

// evict says on the victim why it goes, and deletes it.
func (s *Scheduler) evict(ctx context.Context, preemptor *PodInfo, victim *corev1.Pod, node string) error {
	if known, err := s.pods.Pods(victim.Namespace).Get(victim.Name); err == nil && known.UID == victim.UID {
		victim = known
	}
	if victim.DeletionTimestamp != nil {
		return nil // it goes already
	}
	err := s.patchStatus(ctx, victim, &corev1.PodCondition{
		Type:               corev1.DisruptionTarget,
		ObservedGeneration: victim.Generation,
		Status:             corev1.ConditionTrue,
		Reason:             corev1.PodReasonPreemptionByScheduler,
		Message:            fmt.Sprintf("%s: preempting to accommodate a higher priority pod", preemptor.Pod.Spec.SchedulerName),
	}, victim.Status.NominatedNodeName)
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
	s.recorder.Eventf(victim, corev1.EventTypeNormal, reasonPreempted, "Preempted by pod %s on node %s", preemptor.Pod.UID, node)
	return nil
}
