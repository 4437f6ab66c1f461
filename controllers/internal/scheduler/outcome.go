package scheduler

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
	"minikcm.dev/minikcm/internal/cause"
)

// The reasons of the scheduler's events.
const (
	reasonScheduled = "Scheduled"
	reasonFailed    = "FailedScheduling"

	reasonBindingPending = "BindingConditionsPending"
)

// maxEventMessage is the API's limit for an event's message, in bytes.
const maxEventMessage = 1024

// bindPlaced binds a pod for which a node was chosen. If its volumes or devices must be bound before, which may take
// long, it first names the node in the pod's status (KEP-5278): autoscalers keep the node, and a scheduler that is
// started meanwhile tries it first.
func (s *Scheduler) bindPlaced(ctx context.Context, p placed) {
	a, pod := p.attempt, p.attempt.Info.Pod
	if p.volumes != nil || !p.in.Devices.Empty() {
		a.Expected = p.node
		err := s.patchStatus(cause.With(ctx, cause.Of(pod)), pod, nil, p.node, nil)
		if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
			klog.FromContext(ctx).Error(err, "Cannot write the nominated node", "pod", klog.KObj(pod))
		}
	}
	if p.volumes != nil {
		s.bindVolumes(ctx, p.volumes)
		return
	}
	s.bind(ctx, a, p.node)
}

// bind writes the allocations of the pod's resource claims, and creates the pod's Binding when their devices
// can be bound. If that fails, it removes the pod from the cache, and retries it after a back-off.
func (s *Scheduler) bind(ctx context.Context, a *queue.Attempt, node string) {
	pod := a.Info.Pod
	ctx = cause.With(ctx, cause.Of(pod))
	if !s.devices.uses(pod) {
		s.bindPod(ctx, a, node)
		return
	}
	if err := s.bindDevices(ctx, pod); err != nil {
		s.devicesFailed(ctx, a, err)
		return
	}
	w, err := s.devices.binding(a, node, s.profileOf(pod).DeviceTimeout)
	if err != nil {
		s.devicesFailed(ctx, a, err)
		return
	}
	if w != nil {
		s.recorderOf(pod).Eventf(pod, corev1.EventTypeNormal, reasonBindingPending, "waiting for binding conditions for device on node %s", node)
		s.awaitDevices(ctx, w)
		return
	}
	s.bindPod(ctx, a, node)
}

// bindPod creates the Binding of a pod whose volumes and devices are bound.
func (s *Scheduler) bindPod(ctx context.Context, a *queue.Attempt, node string) {
	pod := a.Info.Pod
	bound, err := s.bindByExtender(ctx, pod, node)
	if !bound {
		err = s.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Annotations: a.Annotations},
			Target:     corev1.ObjectReference{Kind: "Node", Name: node},
		}, metav1.CreateOptions{})
		if err != nil {
			err = fmt.Errorf("running Bind plugin \"DefaultBinder\": %w", err)
		}
	}
	s.volumes.forget(pod.UID)
	if err == nil {
		s.recorderOf(pod).Eventf(pod, corev1.EventTypeNormal, reasonScheduled, "Successfully assigned %s/%s to %s", pod.Namespace, pod.Name, node)
		s.queue.Done(a)
		return
	}
	s.bindFailed(ctx, a, err)
}

// bindFailed removes the assumed pod of an attempt and its reservations, and ends the
// attempt.
func (s *Scheduler) bindFailed(ctx context.Context, a *queue.Attempt, err error) {
	pod := a.Info.Pod
	s.volumes.forget(pod.UID)
	s.devices.bindings.forget(pod.UID)
	s.unreserveDevices(ctx, pod)
	s.queue.Notify(s.cache.ForgetPod(pod.UID))
	s.failed(ctx, a, err)
}

// failed ends an attempt that failed with an error.
func (s *Scheduler) failed(ctx context.Context, a *queue.Attempt, err error) {
	if ctx.Err() != nil || !s.stillPending(a.Info.Pod) {
		s.queue.Done(a)
		return
	}
	s.unnominate(a)
	klog.FromContext(ctx).V(2).Info("Scheduling failed, will retry", "pod", klog.KObj(a.Info.Pod), "err", err)
	s.report(ctx, a, corev1.PodReasonSchedulerError, err.Error(), "")
	s.queue.Fail(a)
}

// reject ends an attempt that found no node. nominated is the node that is being freed for
// the pod; "": none.
func (s *Scheduler) reject(ctx context.Context, a *queue.Attempt, d *plugins.Diagnosis, nominated string) {
	if ctx.Err() != nil || !s.stillPending(a.Info.Pod) {
		s.queue.Done(a)
		return
	}
	s.report(cause.With(ctx, cause.Of(a.Info.Pod)), a, corev1.PodReasonUnschedulable, d.Message(), nominated)
	s.queue.Reject(a)
}

// stillPending reports whether the pod is in the informer's cache, without a node.
func (s *Scheduler) stillPending(pod *corev1.Pod) bool {
	known, err := s.pods.Pods(pod.Namespace).Get(pod.Name)
	return err == nil && known.UID == pod.UID && known.Spec.NodeName == ""
}

// report writes the FailedScheduling event and, where they differ, the pod's
// PodScheduled condition and nominated node.
func (s *Scheduler) report(ctx context.Context, a *queue.Attempt, reason, message, nominated string) {
	pod := a.Info.Pod
	if known, err := s.pods.Pods(pod.Namespace).Get(pod.Name); err == nil && known.UID == pod.UID {
		pod = known
	}
	if a.Expected != "" && pod.Status.NominatedNodeName != a.Expected {
		pod = pod.DeepCopy() // the informer is behind what bindPlaced has written
		pod.Status.NominatedNodeName = a.Expected
	}
	s.recorderOf(pod).Event(pod, corev1.EventTypeWarning, reasonFailed, truncated(message))
	condition := &corev1.PodCondition{
		Type:               corev1.PodScheduled,
		ObservedGeneration: pod.Generation,
		Status:             corev1.ConditionFalse,
		Reason:             reason,
		Message:            message,
	}
	err := s.patchStatus(ctx, pod, condition, nominated, a.Annotations)
	if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
		klog.FromContext(ctx).Error(err, "Cannot write the PodScheduled condition", "pod", klog.KObj(pod))
	}
}

// patchStatus sets a condition, if any, the nominated node, and annotations. It sends no request if
// the pod has all of them already.
func (s *Scheduler) patchStatus(ctx context.Context, pod *corev1.Pod, condition *corev1.PodCondition, nominated string, annotations map[string]string) error {
	status := map[string]any{}
	if condition != nil && s.stamp(pod, condition) {
		status["conditions"] = []any{condition}
	}
	if pod.Status.NominatedNodeName != nominated {
		status["nominatedNodeName"] = nominated
		if nominated == "" {
			status["nominatedNodeName"] = nil // null removes the field
		}
	}
	metadata := map[string]any{"uid": pod.UID}
	if !hasAll(pod.Annotations, annotations) {
		metadata["annotations"] = annotations
	}
	if len(status) == 0 && len(metadata) == 1 {
		return nil
	}
	return s.patchPod(ctx, pod, metadata, status)
}

// patchPod changes a pod's metadata and status.
func (s *Scheduler) patchPod(ctx context.Context, pod *corev1.Pod, metadata, status map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "status": status})
	if err != nil {
		return fmt.Errorf("encoding the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	_, err = s.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("patching the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// hasAll reports whether all entries of some are in all.
func hasAll(all, some map[string]string) bool {
	for key, value := range some {
		if has, ok := all[key]; !ok || has != value {
			return false
		}
	}
	return true
}

// stamp sets the condition's transition time, and reports whether the condition differs from
// the pod's.
func (s *Scheduler) stamp(pod *corev1.Pod, condition *corev1.PodCondition) (changed bool) {
	condition.LastTransitionTime = metav1.NewTime(s.clock.Now())
	for _, c := range pod.Status.Conditions {
		if c.Type != condition.Type {
			continue
		}
		if c.Status == condition.Status {
			condition.LastTransitionTime = c.LastTransitionTime
		}
		return c.Status != condition.Status || c.Reason != condition.Reason || c.Message != condition.Message ||
			c.ObservedGeneration != condition.ObservedGeneration
	}
	return true
}

func truncated(message string) string {
	if len(message) <= maxEventMessage {
		return message
	}
	const dots = " ..."
	return message[:maxEventMessage-len(dots)] + dots
}
