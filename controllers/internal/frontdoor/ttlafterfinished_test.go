package controllers_test

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

// TestJobGoesInTime checks that a Job exists until the end of its time to live, and is then
// deleted with its pods.
func TestJobGoesInTime(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	jobs := c.Client().BatchV1().Jobs("default")
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "short"}, Spec: batchv1.JobSpec{TTLSecondsAfterFinished: ptr.To[int32](100)}}
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "busybox", Command: []string{"true"}}}}
	if _, err := jobs.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	advance := func(d time.Duration) {
		t.Helper()
		if err := c.Advance(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	advance(30 * time.Second)
	done, err := jobs.Get(t.Context(), "short", metav1.GetOptions{})
	if err != nil || done.Status.CompletionTime == nil {
		t.Fatalf("the Job has not completed: %+v, %v", done.Status, err)
	}
	end := done.Status.CompletionTime.Add(100 * time.Second)
	advance(end.Add(-time.Millisecond).Sub(c.Clock().Now()))
	if _, err := jobs.Get(t.Context(), "short", metav1.GetOptions{}); err != nil {
		t.Fatalf("a moment before its time is over: %v", err)
	}
	advance(time.Second)
	if _, err := jobs.Get(t.Context(), "short", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after its time: %v, want it gone", err)
	}
	if n := podCount(t.Context(), t, c); n != 0 {
		t.Errorf("%d pods are left", n)
	}
}

func podCount(ctx context.Context, t *testing.T, c *minikcmtest.Cluster) int {
	t.Helper()
	pods, err := c.Client().CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(pods.Items)
}
