package ttlafterfinished

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"minikcm.dev/minikcm/controllers/internal/job/conditions"
)

// Due reports whether the Job's time to live is over; if not, left is the rest. A Job that
// has no time to live, has not finished or is being deleted is not due, and left is 0.
func Due(job *batchv1.Job, now time.Time) (due bool, left time.Duration, err error) {
	if job.Spec.TTLSecondsAfterFinished == nil || job.DeletionTimestamp != nil {
		return false, 0, nil
	}
	finished := conditions.Finished(job)
	if finished == nil {
		return false, 0, nil
	}
	if finished.LastTransitionTime.IsZero() {
		return false, 0, fmt.Errorf("unable to find the time when the Job %s/%s finished", job.Namespace, job.Name)
	}
	end := finished.LastTransitionTime.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second)
	left = end.Sub(now)
	return left <= 0, max(left, 0), nil
}
