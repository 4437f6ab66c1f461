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

// jobWorld is a cluster on virtual time with helpers for Jobs.
type jobWorld struct {
	*minikcmtest.Cluster
	t *testing.T
}

func newJobWorld(t *testing.T) jobWorld {
	t.Parallel()
	return jobWorld{minikcmtest.New(t, minikcmtest.WithVirtualTime()), t}
}

func (w jobWorld) create(name string, spec batchv1.JobSpec, command ...string) {
	w.t.Helper()
	if spec.Template.Spec.RestartPolicy == "" {
		spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "busybox", Command: command}}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	if _, err := w.Client().BatchV1().Jobs("default").Create(w.t.Context(), job, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w jobWorld) advance(d time.Duration) {
	w.t.Helper()
	advance(w.t, w.Cluster, d)
}

func (w jobWorld) get(name string) *batchv1.Job {
	w.t.Helper()
	job, err := w.Client().BatchV1().Jobs("default").Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return job
}

// podsWith returns the pods of the default namespace that a label selector matches.
func podsWith(t *testing.T, c *minikcmtest.Cluster, selector string) []corev1.Pod {
	t.Helper()
	list, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func (w jobWorld) pods() []corev1.Pod {
	w.t.Helper()
	return podsWith(w.t, w.Cluster, "")
}

// jobConditions returns the reasons of a Job's true conditions, by type.
func jobConditions(job *batchv1.Job) map[batchv1.JobConditionType]string {
	all := map[batchv1.JobConditionType]string{}
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			all[c.Type] = c.Reason
		}
	}
	return all
}

func (w jobWorld) checkConditions(name string, want map[batchv1.JobConditionType]string) {
	w.t.Helper()
	if diff := cmp.Diff(want, jobConditions(w.get(name))); diff != "" {
		w.t.Errorf("conditions of %s (-want +got):\n%s", name, diff)
	}
}

// checkReleased checks that no pod that has ended keeps the finalizer.
func (w jobWorld) checkReleased() {
	w.t.Helper()
	for _, pod := range w.pods() {
		if len(pod.Finalizers) > 0 {
			w.t.Errorf("pod %s has finalizers %v", pod.Name, pod.Finalizers)
		}
	}
}

func TestJobRunsToCompletion(t *testing.T) {
	w := newJobWorld(t)
	w.create("count", batchv1.JobSpec{Completions: ptr.To[int32](5), Parallelism: ptr.To[int32](2)}, "sleep", "10")
	w.advance(5 * time.Second)
	if s := w.get("count").Status; s.Active != 2 || *s.Ready != 2 {
		t.Errorf("after 5 s: %+v, want two pods to run", s)
	}
	w.advance(time.Minute)
	job := w.get("count")
	s := job.Status
	if s.Active != 0 || s.Succeeded != 5 || s.Failed != 0 || s.CompletionTime == nil {
		t.Errorf("in the end: %+v, want 5 to have succeeded", s)
	}
	if took := s.CompletionTime.Sub(s.StartTime.Time); took < 30*time.Second || took > 40*time.Second {
		t.Errorf("it took %v, want three rounds of 10 s", took)
	}
	w.checkConditions("count", map[batchv1.JobConditionType]string{
		batchv1.JobSuccessCriteriaMet: batchv1.JobReasonCompletionsReached, batchv1.JobComplete: batchv1.JobReasonCompletionsReached,
	})
	w.checkReleased()
}

func TestFailingJobBacksOff(t *testing.T) {
	w := newJobWorld(t)
	w.create("broken", batchv1.JobSpec{BackoffLimit: ptr.To[int32](2)}, "false")
	w.advance(5 * time.Second)
	if n := len(w.pods()); n != 1 {
		t.Fatalf("after 5 s there are %d pods, want 1", n)
	}
	w.advance(8 * time.Second)
	if n := len(w.pods()); n != 2 {
		t.Fatalf("after 13 s there are %d pods, want the second", n)
	}
	w.advance(15 * time.Second)
	if n := len(w.pods()); n != 2 {
		t.Fatalf("after 28 s there are %d pods, want no third yet", n)
	}
	w.advance(time.Minute)
	if n := len(w.pods()); n != 3 {
		t.Fatalf("in the end there are %d pods, want 3", n)
	}
	if s := w.get("broken").Status; s.Failed != 3 || s.Succeeded != 0 || s.Active != 0 {
		t.Errorf("in the end: %+v, want 3 to have failed", s)
	}
	w.checkConditions("broken", map[batchv1.JobConditionType]string{
		batchv1.JobFailureTarget: batchv1.JobReasonBackoffLimitExceeded, batchv1.JobFailed: batchv1.JobReasonBackoffLimitExceeded,
	})
	w.checkReleased()
}

func TestIndexedJob(t *testing.T) {
	w := newJobWorld(t)
	w.create("work", batchv1.JobSpec{
		CompletionMode: ptr.To(batchv1.IndexedCompletion), Completions: ptr.To[int32](4), Parallelism: ptr.To[int32](3),
	}, "sleep", "5")
	w.advance(time.Minute)
	job := w.get("work")
	if job.Status.CompletedIndexes != "0-3" || job.Status.Succeeded != 4 {
		t.Errorf("status = %+v, want all indexes completed", job.Status)
	}
	hostnames := map[string]string{}
	for _, pod := range w.pods() {
		hostnames[pod.Spec.Hostname] = pod.Labels[batchv1.JobCompletionIndexAnnotation] + pod.Annotations[batchv1.JobCompletionIndexAnnotation]
	}
	if diff := cmp.Diff(map[string]string{"work-0": "00", "work-1": "11", "work-2": "22", "work-3": "33"}, hostnames); diff != "" {
		t.Errorf("hostnames and indexes (-want +got):\n%s", diff)
	}
	w.checkReleased()
}

func TestJobDeadline(t *testing.T) {
	w := newJobWorld(t)
	w.create("slow", batchv1.JobSpec{ActiveDeadlineSeconds: ptr.To[int64](30)}, "sleep", "infinity")
	w.advance(29 * time.Second)
	w.checkConditions("slow", map[batchv1.JobConditionType]string{})
	w.advance(10 * time.Second)
	w.checkConditions("slow", map[batchv1.JobConditionType]string{
		batchv1.JobFailureTarget: batchv1.JobReasonDeadlineExceeded, batchv1.JobFailed: batchv1.JobReasonDeadlineExceeded,
	})
	if pods := w.pods(); len(pods) != 0 {
		t.Errorf("%d pods are left, want them deleted", len(pods))
	}
}

func TestJobSuspendAndResume(t *testing.T) {
	w := newJobWorld(t)
	w.create("lazy", batchv1.JobSpec{Suspend: ptr.To(true)}, "sleep", "10")
	w.advance(time.Minute)
	w.checkConditions("lazy", map[batchv1.JobConditionType]string{batchv1.JobSuspended: "JobSuspended"})
	suspend := func(yes bool) {
		job := w.get("lazy")
		job.Spec.Suspend, job.ResourceVersion = &yes, "" // unconditional: the Job may have changed
		if _, err := w.Client().BatchV1().Jobs("default").Update(t.Context(), job, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if job := w.get("lazy"); job.Status.StartTime != nil || len(w.pods()) != 0 {
		t.Errorf("a suspended Job has started: %+v", job.Status)
	}
	suspend(false)
	w.advance(5 * time.Second)
	if s := w.get("lazy").Status; s.Active != 1 || s.StartTime == nil {
		t.Errorf("a resumed Job has not started: %+v", s)
	}
	suspend(true)
	w.advance(5 * time.Second)
	if s := w.get("lazy").Status; s.Active != 0 || s.Failed != 0 || len(w.pods()) != 0 {
		t.Errorf("after it was suspended again: %+v with %d pods, want none, and none failed", s, len(w.pods()))
	}
	suspend(false)
	w.advance(time.Minute)
	w.checkConditions("lazy", map[batchv1.JobConditionType]string{
		batchv1.JobSuccessCriteriaMet: batchv1.JobReasonCompletionsReached, batchv1.JobComplete: batchv1.JobReasonCompletionsReached,
	})
}
