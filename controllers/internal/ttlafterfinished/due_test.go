package ttlafterfinished

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

var now = time.Unix(1_000_000, 0)

func finished(ago time.Duration, ttl *int32, kind batchv1.JobConditionType) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "j"},
		Spec:       batchv1.JobSpec{TTLSecondsAfterFinished: ttl},
		Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-ago)),
		}}},
	}
}

func TestDue(t *testing.T) {
	going := finished(time.Hour, ptr.To[int32](1), batchv1.JobComplete)
	going.DeletionTimestamp = &metav1.Time{Time: now}
	timeless := finished(0, ptr.To[int32](1), batchv1.JobComplete)
	timeless.Status.Conditions[0].LastTransitionTime = metav1.Time{}
	for _, tc := range []struct {
		name string
		job  *batchv1.Job
		due  bool
		left time.Duration
		err  bool
	}{
		{"no time to live", finished(time.Hour, nil, batchv1.JobComplete), false, 0, false},
		{"running", finished(time.Hour, ptr.To[int32](1), batchv1.JobSuspended), false, 0, false},
		{"about to fail", finished(time.Hour, ptr.To[int32](1), batchv1.JobFailureTarget), false, 0, false},
		{"going", going, false, 0, false},
		{"a second left", finished(9*time.Second, ptr.To[int32](10), batchv1.JobComplete), false, time.Second, false},
		{"over", finished(10*time.Second, ptr.To[int32](10), batchv1.JobFailed), true, 0, false},
		{"at once", finished(0, ptr.To[int32](0), batchv1.JobComplete), true, 0, false},
		{"without a finish time", timeless, false, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			due, left, err := Due(tc.job, now)
			if due != tc.due || left != tc.left || (err != nil) != tc.err {
				t.Errorf("due %v, %v left, %v; want %v, %v", due, left, err, tc.due, tc.left)
			}
		})
	}
}

// TestNeverEarly checks that a due Job has been finished for its time to live, and that
// left leads exactly to that moment.
func TestNeverEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ago := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "ago"))
		ttl := rapid.Int32Range(0, 3600).Draw(t, "ttl")
		job := finished(ago, &ttl, batchv1.JobComplete)
		due, left, err := Due(job, now)
		if err != nil {
			t.Fatal(err)
		}
		if early := ago < time.Duration(ttl)*time.Second; due == early || early && ago+left != time.Duration(ttl)*time.Second {
			t.Fatalf("finished %v ago with a time of %d s: due %v, %v left", ago, ttl, due, left)
		}
	})
}
