package controllers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/job/conditions"
	"minikcm.dev/minikcm/minikcmtest"
)

// cronWorld is a cluster on virtual time with helpers for CronJobs.
type cronWorld struct {
	*minikcmtest.Cluster
	t *testing.T
}

func newCronWorld(t *testing.T, opts ...minikcmtest.Option) cronWorld {
	t.Parallel()
	return cronWorld{minikcmtest.New(t, append(opts, minikcmtest.WithVirtualTime())...), t}
}

func (w cronWorld) create(schedule string, change func(*batchv1.CronJobSpec), command ...string) {
	w.t.Helper()
	cj := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "tick"}, Spec: batchv1.CronJobSpec{Schedule: schedule}}
	cj.Spec.JobTemplate.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "busybox", Command: command}},
	}
	if change != nil {
		change(&cj.Spec)
	}
	if _, err := w.Client().BatchV1().CronJobs("default").Create(w.t.Context(), cj, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w cronWorld) advance(d time.Duration) {
	w.t.Helper()
	advance(w.t, w.Cluster, d)
}

// toThe advances the clock to the next multiple of d.
func (w cronWorld) toThe(d time.Duration) {
	now := w.Clock().Now()
	w.advance(now.Truncate(d).Add(d).Sub(now))
}

func (w cronWorld) get() *batchv1.CronJob {
	w.t.Helper()
	cj, err := w.Client().BatchV1().CronJobs("default").Get(w.t.Context(), "tick", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return cj
}

func (w cronWorld) jobs() []batchv1.Job {
	w.t.Helper()
	jobs, err := w.Client().BatchV1().Jobs("default").List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return jobs.Items
}

// reasons counts the events about the CronJob by reason.
func (w cronWorld) reasons() map[string]int {
	w.t.Helper()
	events, err := w.Client().CoreV1().Events("default").List(w.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=CronJob"})
	if err != nil {
		w.t.Fatal(err)
	}
	reasons := map[string]int{}
	for _, e := range events.Items {
		reasons[e.Reason] += int(e.Count)
	}
	return reasons
}

// TestCronJobsOfADay runs a CronJob for a day: each hour's Job runs at its minute, completes, and is
// kept until three later ones exist.
func TestCronJobsOfADay(t *testing.T) {
	if testing.Short() {
		t.Skip("a day has thousands of heartbeats")
	}
	w := newCronWorld(t)
	w.toThe(time.Hour)
	w.create("30 * * * *", nil, "sleep", "60")
	seen := map[string]bool{}
	for range 24 {
		w.advance(time.Hour)
		for _, j := range w.jobs() {
			seen[j.Name] = true
			at, err := time.Parse(time.RFC3339, j.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
			if err != nil || at.Minute() != 30 || j.Name != fmt.Sprintf("tick-%d", at.Unix()/60) || !j.CreationTimestamp.Time.Equal(at) {
				t.Errorf("%s was created at %v for %q: %v", j.Name, j.CreationTimestamp, j.Annotations[batchv1.CronJobScheduledTimestampAnnotation], err)
			}
			if c := conditions.Finished(&j); c == nil || c.Type != batchv1.JobComplete {
				t.Errorf("%s is not complete: %+v", j.Name, j.Status)
			}
		}
	}
	if len(seen) != 24 {
		t.Errorf("there were %d Jobs in 24 hours", len(seen))
	}
	if left := w.jobs(); len(left) != 3 {
		t.Errorf("%d Jobs are left, want 3", len(left))
	}
	pods, err := w.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 3 {
		t.Errorf("%d pods are left (%v), want those of 3 Jobs", len(pods.Items), err)
	}
	s := w.get().Status
	if len(s.Active) != 0 || s.LastScheduleTime.Minute() != 30 || s.LastSuccessfulTime.Sub(s.LastScheduleTime.Time) < time.Minute {
		t.Errorf("status = %+v", s)
	}
}

// activeAfter returns the Jobs that run shortly after the fourth minute, when a Job of ten
// minutes is due each minute.
func activeAfter(w cronWorld, policy batchv1.ConcurrencyPolicy) []string {
	w.toThe(time.Minute)
	w.create("*/1 * * * *", func(s *batchv1.CronJobSpec) { s.ConcurrencyPolicy = policy }, "sleep", "600")
	w.advance(4*time.Minute + 30*time.Second)
	var active []string
	for _, ref := range w.get().Status.Active {
		active = append(active, ref.Name)
	}
	var running []string
	for _, j := range w.jobs() {
		running = append(running, j.Name)
	}
	slices.Sort(active)
	if diff := cmp.Diff(running, active); diff != "" {
		w.t.Errorf("jobs and active ones differ (-jobs +active):\n%s", diff)
	}
	return active
}

func TestCronConcurrencyPolicies(t *testing.T) {
	for policy, want := range map[batchv1.ConcurrencyPolicy]int{batchv1.AllowConcurrent: 4, batchv1.ForbidConcurrent: 1, batchv1.ReplaceConcurrent: 1} {
		t.Run(string(policy), func(t *testing.T) {
			w := newCronWorld(t)
			active := activeAfter(w, policy)
			if len(active) != want {
				t.Fatalf("%d Jobs run, want %d", len(active), want)
			}
			last := fmt.Sprintf("tick-%d", w.Clock().Now().Unix()/60)
			if newest := active[len(active)-1] == last; newest != (policy != batchv1.ForbidConcurrent) {
				t.Errorf("%v run; the last minute's is %s", active, last)
			}
			reasons := w.reasons()
			if forbidden := reasons["JobAlreadyActive"] > 0; forbidden != (policy == batchv1.ForbidConcurrent) {
				t.Errorf("events: %v", reasons)
			}
		})
	}
}

func TestSuspendedCronJob(t *testing.T) {
	w := newCronWorld(t)
	w.create("* * * * *", func(s *batchv1.CronJobSpec) { s.Suspend = ptr.To(true) }, "true")
	w.advance(5 * time.Minute)
	if jobs := w.jobs(); len(jobs) != 0 {
		t.Errorf("%d Jobs were started", len(jobs))
	}
}

// TestCronTimeZone checks that a schedule follows its time zone. It needs no nodes.
func TestCronTimeZone(t *testing.T) {
	w := newCronWorld(t, minikcmtest.WithNodes(0), minikcmtest.WithControllers("serviceaccount-controller", "cronjob-controller"))
	w.create("0 0 * * *", func(s *batchv1.CronJobSpec) {
		s.TimeZone = ptr.To("Asia/Kolkata")
		s.SuccessfulJobsHistoryLimit = ptr.To[int32](10)
	}, "true")
	w.advance(24 * time.Hour)
	jobs := w.jobs()
	if len(jobs) != 1 {
		t.Fatalf("%d Jobs in a day", len(jobs))
	}
	for _, j := range jobs {
		if text := j.Annotations[batchv1.CronJobScheduledTimestampAnnotation]; !strings.HasSuffix(text, "T00:00:00+05:30") {
			t.Errorf("%s was for %s", j.Name, text)
		}
	}
}

// TestAnotherCronSchedule checks that a new schedule does not apply to times before it was set.
func TestAnotherCronSchedule(t *testing.T) {
	w := newCronWorld(t, minikcmtest.WithNodes(0), minikcmtest.WithControllers("serviceaccount-controller", "cronjob-controller"))
	w.toThe(time.Hour)
	w.create("0 0 1 * *", nil, "true")
	w.advance(30 * time.Minute)
	patch := []byte(`{"spec":{"schedule":"20 * * * *"}}`)
	if _, err := w.Client().BatchV1().CronJobs("default").Patch(t.Context(), "tick", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.advance(20 * time.Minute)
	if jobs := w.jobs(); len(jobs) != 0 {
		t.Fatalf("%s was started at once", jobs[0].Name)
	}
	w.advance(time.Hour)
	jobs := w.jobs()
	if len(jobs) != 1 || jobs[0].CreationTimestamp.Minute() != 20 {
		t.Errorf("an hour later there are %d Jobs, want the one of the 20th minute", len(jobs))
	}
}
