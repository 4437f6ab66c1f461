package cronjob

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/plan"
)

// hour is the hour in which the tests take place; nameOf returns a Job's name in it.
var hour = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return hour.Add(time.Duration(n) * time.Minute) }
func nameOf(n int) string    { return fmt.Sprintf("c-%d", minute(n).Unix()/60) }

type option func(*batchv1.CronJob)

// newCronJob returns a CronJob for every tenth minute, last scheduled at the start of the
// hour.
func newCronJob(opts ...option) *batchv1.CronJob {
	cj := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "c", UID: "c", CreationTimestamp: metav1.NewTime(hour.Add(-time.Hour))},
		Spec: batchv1.CronJobSpec{
			Schedule: "*/10 * * * *", ConcurrencyPolicy: batchv1.AllowConcurrent,
			SuccessfulJobsHistoryLimit: ptr.To[int32](2), FailedJobsHistoryLimit: ptr.To[int32](1),
		},
		Status: batchv1.CronJobStatus{LastScheduleTime: &metav1.Time{Time: hour}},
	}
	for _, o := range opts {
		o(cj)
	}
	return cj
}

func spec(change func(*batchv1.CronJobSpec)) option {
	return func(cj *batchv1.CronJob) { change(&cj.Spec) }
}

func policy(p batchv1.ConcurrencyPolicy) option {
	return spec(func(s *batchv1.CronJobSpec) { s.ConcurrencyPolicy = p })
}

func deadline(seconds int64) option {
	return spec(func(s *batchv1.CronJobSpec) { s.StartingDeadlineSeconds = &seconds })
}

// active adds the Job of a minute to the status.
func active(n int) option {
	return func(cj *batchv1.CronJob) {
		cj.Status.Active = append(cj.Status.Active, corev1.ObjectReference{Namespace: "a", Name: nameOf(n), UID: types.UID(nameOf(n))})
	}
}

// jobOf returns the Job of a minute, running or with the final condition.
func jobOf(n int, finished ...batchv1.JobConditionType) *batchv1.Job {
	yes := true
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: nameOf(n), UID: types.UID(nameOf(n)),
			Annotations:     map[string]string{batchv1.CronJobScheduledTimestampAnnotation: minute(n).Format(time.RFC3339)},
			OwnerReferences: []metav1.OwnerReference{{UID: "c", Controller: &yes}},
		},
		Status: batchv1.JobStatus{StartTime: &metav1.Time{Time: minute(n)}},
	}
	for _, kind := range finished {
		j.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue}}
		if kind == batchv1.JobComplete {
			j.Status.CompletionTime = &metav1.Time{Time: minute(n + 1)}
		}
	}
	return j
}

func manual(j *batchv1.Job) *batchv1.Job {
	j.Name, j.Annotations = "manual", nil
	return j
}

// summary formats a plan.
func summary(p Plan) []string {
	var lines []string
	deletions := func(actions []plan.Action) {
		for _, a := range actions {
			line := string(a.Verb)
			for _, o := range a.Objects {
				line += " " + o.GetName()
			}
			lines = append(lines, line)
		}
	}
	deletions(p.Actions)
	if p.Start != nil {
		lines = append(lines, "start "+p.Start.Name+" for "+p.Start.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
	}
	names := make([]string, 0, len(p.Status.Active))
	for _, ref := range p.Status.Active {
		names = append(names, ref.Name)
	}
	line := fmt.Sprintf("active [%s] last %s", strings.Join(names, " "), p.Status.LastScheduleTime.UTC().Format("15:04"))
	if p.Status.LastSuccessfulTime != nil {
		line += " success " + p.Status.LastSuccessfulTime.UTC().Format("15:04")
	}
	lines = append(lines, line)
	deletions(p.Tidy)
	for _, e := range p.Events {
		lines = append(lines, fmt.Sprintf("event %s %s: %s", e.Type, e.Reason, e.Message))
	}
	if p.RequeueAfter > 0 {
		lines = append(lines, "again after "+p.RequeueAfter.String())
	}
	return lines
}

func TestDecide(t *testing.T) {
	complete, failed := batchv1.JobComplete, batchv1.JobFailed
	for _, tc := range []struct {
		name string
		cj   *batchv1.CronJob
		jobs []*batchv1.Job
		// now is the minute of the hour.
		now  int
		want []string
	}{
		{"not yet", newCronJob(), nil, 9, []string{"active [] last 10:00", "again after 1m0s"}},
		{"now", newCronJob(), nil, 10, []string{"start " + nameOf(10) + " for 2026-03-01T10:10:00Z", "active [] last 10:00", "again after 10m0s"}},
		{"of several times only the last", newCronJob(), nil, 35, []string{"start " + nameOf(30) + " for 2026-03-01T10:30:00Z", "active [] last 10:00", "again after 5m0s"}},
		{
			"a zone", newCronJob(spec(func(s *batchv1.CronJobSpec) { s.TimeZone = ptr.To("Asia/Kolkata") })), nil, 10,
			[]string{"start " + nameOf(10) + " for 2026-03-01T15:40:00+05:30", "active [] last 10:00", "again after 10m0s"},
		},
		{"suspended", newCronJob(spec(func(s *batchv1.CronJobSpec) { s.Suspend = ptr.To(true) })), nil, 10, []string{"active [] last 10:00"}},
		{"being deleted", newCronJob(func(cj *batchv1.CronJob) { cj.DeletionTimestamp = &metav1.Time{Time: hour} }), nil, 10, []string{"active [] last 10:00"}},
		{"in time", newCronJob(deadline(120)), nil, 12, []string{"start " + nameOf(10) + " for 2026-03-01T10:10:00Z", "active [] last 10:00", "again after 8m0s"}},
		{"too late", newCronJob(deadline(119)), nil, 12, []string{"active [] last 10:00", "event Warning MissSchedule: Missed scheduled time to start a job: Sun, 01 Mar 2026 10:10:00 +0000", "again after 8m0s"}},
		{
			"too many were missed", newCronJob(spec(func(s *batchv1.CronJobSpec) { s.Schedule = "* * * * *" })), nil, 101,
			[]string{
				"start " + nameOf(101) + " for 2026-03-01T11:41:00Z", "active [] last 10:00",
				"event Warning TooManyMissedTimes: too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew", "again after 1m0s",
			},
		},
		{
			"those that are too late are not counted", newCronJob(deadline(200), spec(func(s *batchv1.CronJobSpec) { s.Schedule = "* * * * *" })), nil, 101,
			[]string{"start " + nameOf(101) + " for 2026-03-01T11:41:00Z", "active [] last 10:00", "again after 1m0s"},
		},
		{
			"allowed beside another", newCronJob(active(0)),
			[]*batchv1.Job{jobOf(0)},
			10,
			[]string{"start " + nameOf(10) + " for 2026-03-01T10:10:00Z", "active [" + nameOf(0) + "] last 10:00", "again after 10m0s"},
		},
		{
			"forbidden beside another", newCronJob(active(0), policy(batchv1.ForbidConcurrent)),
			[]*batchv1.Job{jobOf(0)},
			10,
			[]string{
				"active [" + nameOf(0) + "] last 10:00",
				"event Normal JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid", "again after 10m0s",
			},
		},
		{
			"in place of another", newCronJob(active(0), policy(batchv1.ReplaceConcurrent)),
			[]*batchv1.Job{jobOf(0)},
			10,
			[]string{"delete " + nameOf(0), "start " + nameOf(10) + " for 2026-03-01T10:10:00Z", "active [] last 10:00", "again after 10m0s"},
		},
		{
			"one has completed", newCronJob(active(0)),
			[]*batchv1.Job{jobOf(0, complete)},
			5,
			[]string{"active [] last 10:00 success 10:01", "event Normal SawCompletedJob: Saw completed job: " + nameOf(0) + ", condition: Complete", "again after 5m0s"},
		},
		{
			"one has failed", newCronJob(active(0)),
			[]*batchv1.Job{jobOf(0, failed)},
			5,
			[]string{"active [] last 10:00", "event Normal SawCompletedJob: Saw completed job: " + nameOf(0) + ", condition: Failed", "again after 5m0s"},
		},
		{"one is missing", newCronJob(active(0)), nil, 5, []string{"active [] last 10:00", "event Normal MissingJob: Active job went missing: " + nameOf(0), "again after 5m0s"}},
		{"one was started just before a crash", newCronJob(), []*batchv1.Job{jobOf(10)}, 10, []string{"active [" + nameOf(10) + "] last 10:10", "again after 10m0s"}},
		{"and has ended since", newCronJob(), []*batchv1.Job{jobOf(10, complete)}, 12, []string{"active [] last 10:10 success 10:11", "again after 8m0s"}},
		{
			"one that another client created", newCronJob(),
			[]*batchv1.Job{manual(jobOf(5))},
			6,
			[]string{"active [] last 10:00", "event Warning UnexpectedJob: Saw a job that the controller did not create or forgot: manual", "again after 4m0s"},
		},
		{
			"the oldest finished ones go", newCronJob(),
			[]*batchv1.Job{jobOf(-10, failed), jobOf(-20, complete), jobOf(-40, complete), jobOf(-30, complete), jobOf(-50, complete), jobOf(-60, failed)},
			5,
			[]string{"active [] last 10:00 success 09:41", "delete " + nameOf(-50) + " " + nameOf(-40), "delete " + nameOf(-60), "again after 5m0s"},
		},
		{
			"an unreadable schedule", newCronJob(spec(func(s *batchv1.CronJobSpec) { s.Schedule = "x" })), nil, 5,
			[]string{"active [] last 10:00", "event Warning UnparseableSchedule: unparseable schedule: \"x\" : expected exactly 5 fields, found 1: [x]"},
		},
		{
			"a day that never comes", newCronJob(spec(func(s *batchv1.CronJobSpec) { s.Schedule = "0 0 31 2 *" })), nil, 5,
			[]string{"active [] last 10:00", "event Warning InvalidSchedule: invalid schedule: 0 0 31 2 * : time difference between two schedules is less than 1 second"},
		},
		{
			"an unknown zone", newCronJob(spec(func(s *batchv1.CronJobSpec) { s.TimeZone = ptr.To("Mars/Olympus") })), nil, 5,
			[]string{"active [] last 10:00", "event Warning UnknownTimeZone: invalid timeZone: \"Mars/Olympus\": unknown time zone Mars/Olympus"},
		},
		{
			"an unknown zone while it is suspended",
			newCronJob(spec(func(s *batchv1.CronJobSpec) { s.TimeZone, s.Suspend = ptr.To("Mars/Olympus"), ptr.To(true) })), nil, 10,
			[]string{"active [] last 10:00", "event Warning UnknownTimeZone: invalid timeZone: \"Mars/Olympus\": unknown time zone Mars/Olympus"},
		},
		{
			"a zone in the schedule", newCronJob(spec(func(s *batchv1.CronJobSpec) { s.Schedule = "TZ=UTC */10 * * * *" })), nil, 9,
			[]string{
				"active [] last 10:00",
				"event Warning UnsupportedSchedule: CRON_TZ or TZ used in schedule \"TZ=UTC */10 * * * *\" is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
				"again after 1m0s",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, summary(Decide(Snapshot{CronJob: tc.cj, Jobs: tc.jobs}, minute(tc.now)))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConclude checks that the status contains the created Job and its scheduled time.
func TestConclude(t *testing.T) {
	cj := newCronJob()
	p := Decide(Snapshot{CronJob: cj}, minute(10))
	if status := Conclude(cj, p, nil); status != nil {
		t.Errorf("nothing was started, and the status becomes %+v", status)
	}
	status := Conclude(cj, p, jobOf(10))
	if status == nil || len(status.Active) != 1 || status.Active[0].Name != nameOf(10) || !status.LastScheduleTime.Time.Equal(minute(10)) {
		t.Errorf("status = %+v", status)
	}
}
