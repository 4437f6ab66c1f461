package conditions

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// New returns a condition whose times are now.
func New(kind batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string, now time.Time) *batchv1.JobCondition {
	at := metav1.NewTime(now)
	return &batchv1.JobCondition{Type: kind, Status: status, LastProbeTime: at, LastTransitionTime: at, Reason: reason, Message: message}
}

// Of returns the status's condition of that type, or nil. The caller may change it only in a
// status of its own.
func Of(status *batchv1.JobStatus, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range status.Conditions {
		if status.Conditions[i].Type == kind {
			return &status.Conditions[i]
		}
	}
	return nil
}

// Set sets the condition in the status and reports whether that changes it. It
// does not add a condition that is False.
func Set(status *batchv1.JobStatus, c *batchv1.JobCondition) bool {
	known := Of(status, c.Type)
	switch {
	case known == nil && c.Status == corev1.ConditionFalse:
		return false
	case known == nil:
		status.Conditions = append(slices.Clip(status.Conditions), *c)
		return true
	case known.Status == c.Status && known.Reason == c.Reason && known.Message == c.Message:
		return false
	}
	status.Conditions = slices.Clone(status.Conditions)
	*Of(status, c.Type) = *c
	return true
}

// Finished returns the condition that ends the Job, Complete or Failed, or nil.
func Finished(job *batchv1.Job) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		c := &job.Status.Conditions[i]
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}
