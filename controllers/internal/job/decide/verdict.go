package decide

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/job/conditions"
	"minikcm.dev/minikcm/controllers/internal/job/indexes"
)

// judgeJob decides whether the Job has to end for a reason other than its completions. A
// verdict in the status is final.
func (t *tally) judgeJob() {
	for _, decided := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget} {
		if c := conditions.Of(&t.job.Status, decided); c != nil && c.Status == corev1.ConditionTrue {
			t.verdict = c
			return
		}
	}
	if message := t.failedByPolicy(); message != "" {
		t.fail(batchv1.JobReasonPodFailurePolicy, message)
		return
	}
	if t.failedByLimits() {
		return
	}
	if t.failedByIndexes() {
		return
	}
	if message := matchSuccess(t.job, t.indexes.succeeded); message != "" {
		t.verdict = conditions.New(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, batchv1.JobReasonSuccessPolicy, message, t.now)
	}
}

func (t *tally) fail(reason, message string) {
	t.verdict = conditions.New(batchv1.JobFailureTarget, corev1.ConditionTrue, reason, message, t.now)
}

func (t *tally) failedByPolicy() string {
	if t.pods.Fatal == nil {
		return ""
	}
	return judge(t.job, t.pods.Fatal).message
}

// failedByLimits checks the back-off limit and the deadline. It requests a requeue at a
// deadline in the future.
func (t *tally) failedByLimits() bool {
	if t.failed > backoffLimit(t.job) || t.restartedTooOften() {
		t.fail(batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
		return true
	}
	spec, started := &t.job.Spec, t.startTime()
	if spec.ActiveDeadlineSeconds == nil || started == nil {
		return false
	}
	left := time.Duration(*spec.ActiveDeadlineSeconds)*time.Second - t.now.Sub(started.Time)
	if left <= 0 {
		t.fail(batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
		return true
	}
	t.waitFor(left)
	return false
}

// defaultBackoffLimit is the API's default of backoffLimit.
const defaultBackoffLimit = 6

func backoffLimit(job *batchv1.Job) int32 {
	if job.Spec.BackoffLimit == nil {
		return defaultBackoffLimit
	}
	return *job.Spec.BackoffLimit
}

// startTime returns the time at which the Job was started or last resumed. A suspended Job
// has none, so that its deadline starts again when it is resumed.
func (t *tally) startTime() *metav1.Time {
	switch {
	case suspended(t.job):
		return nil
	case t.job.Status.StartTime == nil:
		return &metav1.Time{Time: t.now}
	default:
		return t.job.Status.StartTime
	}
}

// restartedTooOften reports whether restarts of containers within their pods reach the
// back-off limit.
func (t *tally) restartedTooOften() bool {
	if t.job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	restarts := t.pods.Counts.Restarts
	return restarts > 0 && restarts >= backoffLimit(t.job)
}

func (t *tally) failedByIndexes() bool {
	if !perIndex(t.job) {
		return false
	}
	lost := t.indexes.failed.Total()
	switch limit := t.job.Spec.MaxFailedIndexes; {
	case limit != nil && lost > int(*limit):
		t.fail(batchv1.JobReasonMaxFailedIndexesExceeded, "Job has exceeded the specified maximal number of failed indexes")
	case lost > 0 && lost+t.indexes.succeeded.Total() >= indexes.Completions(t.job):
		t.fail(batchv1.JobReasonFailedIndexes, "Job has failed indexes")
	default:
		return false
	}
	return true
}
