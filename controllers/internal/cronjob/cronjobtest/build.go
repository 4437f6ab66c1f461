package cronjobtest

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Hour is the hour in which the tests take place.
var Hour = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// Minute returns a minute of Hour.
func Minute(n int) time.Time { return Hour.Add(time.Duration(n) * time.Minute) }

// NameOf returns the name of the Job of a minute.
func NameOf(n int) string { return fmt.Sprintf("c-%d", Minute(n).Unix()/60) }

// Option changes a CronJob that New builds.
type Option func(*batchv1.CronJob)

// New returns a CronJob for every tenth minute, last scheduled at the start of the
// hour.
func New(opts ...Option) *batchv1.CronJob {
	cj := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "c", UID: "c", CreationTimestamp: metav1.NewTime(Hour.Add(-time.Hour))},
		Spec: batchv1.CronJobSpec{
			Schedule: "*/10 * * * *", ConcurrencyPolicy: batchv1.AllowConcurrent,
			SuccessfulJobsHistoryLimit: ptr.To[int32](2), FailedJobsHistoryLimit: ptr.To[int32](1),
		},
		Status: batchv1.CronJobStatus{LastScheduleTime: &metav1.Time{Time: Hour}},
	}
	for _, o := range opts {
		o(cj)
	}
	return cj
}

// Spec changes the CronJob's spec.
func Spec(change func(*batchv1.CronJobSpec)) Option {
	return func(cj *batchv1.CronJob) { change(&cj.Spec) }
}

// Policy sets the concurrency policy.
func Policy(p batchv1.ConcurrencyPolicy) Option {
	return Spec(func(s *batchv1.CronJobSpec) { s.ConcurrencyPolicy = p })
}

// Deadline sets the starting deadline, in seconds.
func Deadline(seconds int64) Option {
	return Spec(func(s *batchv1.CronJobSpec) { s.StartingDeadlineSeconds = &seconds })
}

// Active adds the Job of a minute to the status.
func Active(n int) Option {
	return func(cj *batchv1.CronJob) {
		cj.Status.Active = append(cj.Status.Active, corev1.ObjectReference{Namespace: "a", Name: NameOf(n), UID: types.UID(NameOf(n))})
	}
}

// JobOf returns the Job of a minute, running or with the final condition.
func JobOf(n int, finished ...batchv1.JobConditionType) *batchv1.Job {
	yes := true
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: NameOf(n), UID: types.UID(NameOf(n)),
			Annotations:     map[string]string{batchv1.CronJobScheduledTimestampAnnotation: Minute(n).Format(time.RFC3339)},
			OwnerReferences: []metav1.OwnerReference{{UID: "c", Controller: &yes}},
		},
		Status: batchv1.JobStatus{StartTime: &metav1.Time{Time: Minute(n)}},
	}
	for _, kind := range finished {
		j.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue}}
		if kind == batchv1.JobComplete {
			j.Status.CompletionTime = &metav1.Time{Time: Minute(n + 1)}
		}
	}
	return j
}
