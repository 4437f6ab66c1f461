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

// Note is what is to be told of a pod.
type Note struct {
	// Reason and Message of the condition; without a reason there is none.
	Reason, Message string
	// Fail ends the pod's phase as Failed, unless it has ended by itself.
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

// Tell writes the note into the pod's status. A pod that says it already, or that is
// gone, is no error.
func Tell(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, note Note, now time.Time) error {
	var p patch
	p.Metadata.UID = pod.UID
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if note.Fail && !ended {
		p.Status.Phase = corev1.PodFailed
	}
	if note.Reason != "" && !(note.Fail && ended) && !told(pod, note) {
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

func told(pod *corev1.Pod, note Note) bool {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.DisruptionTarget {
			return c.Status == corev1.ConditionTrue && c.Reason == note.Reason && c.Message == note.Message
		}
	}
	return false
}
