package controllers_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

func indexedJob(completions, parallelism int32) batchv1.JobSpec {
	return batchv1.JobSpec{CompletionMode: ptr.To(batchv1.IndexedCompletion), Completions: &completions, Parallelism: &parallelism}
}

// events counts the events about a Job, by type and reason.
func (w jobWorld) events(name string) map[string]int32 {
	w.t.Helper()
	list, err := w.Client().CoreV1().Events("default").List(w.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=Job,involvedObject.name=" + name})
	if err != nil {
		w.t.Fatal(err)
	}
	counts := map[string]int32{}
	for _, e := range list.Items {
		counts[e.Type+" "+e.Reason] += e.Count
	}
	return counts
}

func TestPodFailurePolicyEndsJob(t *testing.T) {
	w := newJobWorld(t)
	w.create("picky", batchv1.JobSpec{PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:      batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}},
	}}}}, "sh", "-c", "sleep 3; exit 42")
	w.advance(time.Minute)
	w.checkConditions("picky", map[batchv1.JobConditionType]string{
		batchv1.JobFailureTarget: batchv1.JobReasonPodFailurePolicy, batchv1.JobFailed: batchv1.JobReasonPodFailurePolicy,
	})
	if s := w.get("picky").Status; s.Failed != 1 {
		t.Errorf("status = %+v, want one pod to have failed", s)
	}
	if diff := cmp.Diff(map[string]int32{"Normal SuccessfulCreate": 1, "Warning PodFailurePolicy": 1}, w.events("picky")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	w.checkReleased()
}

// TestBackoffLimitPerIndex checks that each index is retried up to its own limit,
// independent of the others.
func TestJobBackoffLimitPerIndex(t *testing.T) {
	w := newJobWorld(t)
	spec := indexedJob(3, 3)
	spec.BackoffLimitPerIndex = ptr.To[int32](1)
	w.create("apart", spec, "false")
	w.advance(5 * time.Minute)
	s := w.get("apart").Status
	if s.FailedIndexes == nil || *s.FailedIndexes != "0-2" || s.Failed != 6 {
		t.Errorf("status = %+v, want each index to have failed twice", s)
	}
	w.checkConditions("apart", map[batchv1.JobConditionType]string{
		batchv1.JobFailureTarget: batchv1.JobReasonFailedIndexes, batchv1.JobFailed: batchv1.JobReasonFailedIndexes,
	})
	tries := map[string]int{}
	for _, pod := range w.pods() {
		tries[pod.Annotations[batchv1.JobCompletionIndexAnnotation]+" after "+pod.Annotations[batchv1.JobIndexFailureCountAnnotation]]++
	}
	want := map[string]int{"0 after 0": 1, "0 after 1": 1, "1 after 0": 1, "1 after 1": 1, "2 after 0": 1, "2 after 1": 1}
	if diff := cmp.Diff(want, tries); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	w.checkReleased()
}

// TestSuccessPolicy checks that the first succeeded index completes the Job and stops the
// others.
func TestJobSuccessPolicy(t *testing.T) {
	w := newJobWorld(t)
	spec := indexedJob(3, 3)
	spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: ptr.To[int32](1)}}}
	spec.Parallelism = ptr.To[int32](1)
	w.create("first", spec, "sleep", "5")
	w.advance(time.Minute)
	w.checkConditions("first", map[batchv1.JobConditionType]string{
		batchv1.JobSuccessCriteriaMet: batchv1.JobReasonSuccessPolicy, batchv1.JobComplete: batchv1.JobReasonSuccessPolicy,
	})
	if s := w.get("first").Status; s.CompletedIndexes != "0" || s.Failed != 0 {
		t.Errorf("status = %+v", s)
	}
	w.checkReleased()
}

// TestRestartsCount checks that restarts of containers count with restartPolicy OnFailure.
func TestJobRestartsCount(t *testing.T) {
	w := newJobWorld(t)
	spec := batchv1.JobSpec{BackoffLimit: ptr.To[int32](2)}
	spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	w.create("again", spec, "false")
	w.advance(10 * time.Minute)
	w.checkConditions("again", map[batchv1.JobConditionType]string{
		batchv1.JobFailureTarget: batchv1.JobReasonBackoffLimitExceeded, batchv1.JobFailed: batchv1.JobReasonBackoffLimitExceeded,
	})
	if diff := cmp.Diff(map[string]int32{"Normal SuccessfulCreate": 1, "Normal SuccessfulDelete": 1, "Warning BackoffLimitExceeded": 1}, w.events("again")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestDeletedJob checks that a Job that is deleted while it runs deletes its pods, or
// orphans them without the finalizer, which no other controller would remove.
func TestDeletedJob(t *testing.T) {
	for policy, left := range map[metav1.DeletionPropagation]int{
		metav1.DeletePropagationBackground: 0, metav1.DeletePropagationForeground: 0, metav1.DeletePropagationOrphan: 2,
	} {
		t.Run(string(policy), func(t *testing.T) {
			w := newJobWorld(t)
			w.create("gone", batchv1.JobSpec{Parallelism: ptr.To[int32](2)}, "sleep", "infinity")
			w.advance(10 * time.Second)
			if err := w.Client().BatchV1().Jobs("default").Delete(t.Context(), "gone", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
				t.Fatal(err)
			}
			w.advance(2 * time.Minute)
			jobs, err := w.Client().BatchV1().Jobs("default").List(t.Context(), metav1.ListOptions{})
			if err != nil || len(jobs.Items) != 0 {
				t.Errorf("%d Jobs are left, %v", len(jobs.Items), err)
			}
			if pods := w.pods(); len(pods) != left {
				t.Errorf("%d pods are left, want %d", len(pods), left)
			}
			w.checkReleased()
		})
	}
}

// TestDeletedPodIsReplaced checks that a pod deleted by a user is replaced and counted as
// failed.
func TestJobDeletedPodIsReplaced(t *testing.T) {
	w := newJobWorld(t)
	w.create("stubborn", batchv1.JobSpec{}, "sleep", "30")
	w.advance(10 * time.Second)
	if err := w.Client().CoreV1().Pods("default").Delete(t.Context(), w.pods()[0].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.advance(2 * time.Minute)
	if s := w.get("stubborn").Status; s.Succeeded != 1 || s.Failed != 1 {
		t.Errorf("status = %+v, want one pod lost and one to succeed", s)
	}
}

// TestForeignJobIsLeftAlone checks that a Job of another controller is not changed.
func TestForeignJobIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := jobWorld{minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0)), t}
	w.create("theirs", batchv1.JobSpec{ManagedBy: ptr.To("example.com/queue")}, "true")
	w.advance(time.Minute)
	if s := w.get("theirs").Status; len(w.pods()) != 0 || s.StartTime != nil {
		t.Errorf("%d pods, status %+v", len(w.pods()), s)
	}
}
