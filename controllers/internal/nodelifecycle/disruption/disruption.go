package disruption

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Note is a change of a pod's status before its deletion.
type Note struct {
	// Reason and Message are the condition's; without a reason there is no condition.
	Reason, Message string
	// Fail sets the pod's phase to Failed, unless the pod has ended.
	Fail bool
}

type patch struct {
	Metadata struct {
		UID types.UID `json:"uid"`
	} `json:"metadata"`
	Status struct {
		Phase      corev1.PodPhase       `json:"phase,omitempty"`
		Conditions []corev1.PodCondition `json:"conditions,omitempty"`
	} `json:"status"`
}

// Mark writes the note to the pod's status. It is not an error if the status has the note
// already, or the pod is gone.
func Mark(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, note Note, now time.Time) error {
	var p patch
	p.Metadata.UID = pod.UID
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if note.Fail && !ended {
		p.Status.Phase = corev1.PodFailed
	}
	if note.Reason != "" && !(note.Fail && ended) && !noted(pod, note) {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: note.Reason, Message: note.Message,
			ObservedGeneration: pod.Generation, LastTransitionTime: metav1.NewTime(now),
		}}
	}
	if p.Status.Phase == "" && p.Status.Conditions == nil {
		return nil
	}
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encoding the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	_, err = client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, data, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("patching the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

func noted(pod *corev1.Pod, note Note) bool {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.DisruptionTarget {
			return c.Status == corev1.ConditionTrue && c.Reason == note.Reason && c.Message == note.Message
		}
	}
	return false
}
