package decide

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/cronjob/cronjobtest"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

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
		{"not yet", cronjobtest.New(), nil, 9, []string{"active [] last 10:00", "again after 1m0s"}},
		{"now", cronjobtest.New(), nil, 10, []string{"start " + cronjobtest.NameOf(10) + " for 2026-03-01T10:10:00Z", "active [] last 10:00", "again after 10m0s"}},
		{"of several times only the last", cronjobtest.New(), nil, 35, []string{"start " + cronjobtest.NameOf(30) + " for 2026-03-01T10:30:00Z", "active [] last 10:00", "again after 5m0s"}},
		{
			"a zone", cronjobtest.New(cronjobtest.Spec(func(s *batchv1.CronJobSpec) { s.TimeZone = ptr.To("Asia/Kolkata") })), nil, 10,
			[]string{"start " + cronjobtest.NameOf(10) + " for 2026-03-01T15:40:00+05:30", "active [] last 10:00", "again after 10m0s"},
		},
		{"suspended", cronjobtest.New(cronjobtest.Spec(func(s *batchv1.CronJobSpec) { s.Suspend = ptr.To(true) })), nil, 10, []string{"active [] last 10:00"}},
		{"being deleted", cronjobtest.New(func(cj *batchv1.CronJob) { cj.DeletionTimestamp = &metav1.Time{Time: cronjobtest.Hour} }), nil, 10, []string{"active [] last 10:00"}},
		{"in time", cronjobtest.New(cronjobtest.Deadline(120)), nil, 12, []string{"start " + cronjobtest.NameOf(10) + " for 2026-03-01T10:10:00Z", "active [] last 10:00", "again after 8m0s"}},
		{"too late", cronjobtest.New(cronjobtest.Deadline(119)), nil, 12, []string{"active [] last 10:00", "event Warning MissSchedule: Missed scheduled time to start a job: Sun, 01 Mar 2026 10:10:00 +0000", "again after 8m0s"}},
		{
			"too many were missed", cronjobtest.New(cronjobtest.Spec(func(s *batchv1.CronJobSpec) { s.Schedule = "* * * * *" })), nil, 101,
			[]string{
				"start " + cronjobtest.NameOf(101) + " for 2026-03-01T11:41:00Z", "active [] last 10:00",
				"event Warning TooManyMissedTimes: too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew", "again after 1m0s",
			},
		},
		{
			"those that are too late are not counted", cronjobtest.New(cronjobtest.Deadline(200), cronjobtest.Spec(func(s *batchv1.CronJobSpec) { s.Schedule = "* * * * *" })), nil, 101,
			[]string{"start " + cronjobtest.NameOf(101) + " for 2026-03-01T11:41:00Z", "active [] last 10:00", "again after 1m0s"},
		},
		{
			"allowed beside another", cronjobtest.New(cronjobtest.Active(0)),
			[]*batchv1.Job{cronjobtest.JobOf(0)},
			10,
			[]string{"start " + cronjobtest.NameOf(10) + " for 2026-03-01T10:10:00Z", "active [" + cronjobtest.NameOf(0) + "] last 10:00", "again after 10m0s"},
		},
		{
			"forbidden beside another", cronjobtest.New(cronjobtest.Active(0), cronjobtest.Policy(batchv1.ForbidConcurrent)),
			[]*batchv1.Job{cronjobtest.JobOf(0)},
			10,
			[]string{
				"active [" + cronjobtest.NameOf(0) + "] last 10:00",
				"event Normal JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid", "again after 10m0s",
			},
		},
		{
			"in place of another", cronjobtest.New(cronjobtest.Active(0), cronjobtest.Policy(batchv1.ReplaceConcurrent)),
			[]*batchv1.Job{cronjobtest.JobOf(0)},
			10,
			[]string{"delete " + cronjobtest.NameOf(0), "start " + cronjobtest.NameOf(10) + " for 2026-03-01T10:10:00Z", "active [] last 10:00", "again after 10m0s"},
		},
		{
			"one has completed", cronjobtest.New(cronjobtest.Active(0)),
			[]*batchv1.Job{cronjobtest.JobOf(0, complete)},
			5,
			[]string{"active [] last 10:00 success 10:01", "event Normal SawCompletedJob: Saw completed job: " + cronjobtest.NameOf(0) + ", condition: Complete", "again after 5m0s"},
		},
		{
			"one has failed", cronjobtest.New(cronjobtest.Active(0)),
			[]*batchv1.Job{cronjobtest.JobOf(0, failed)},
			5,
			[]string{"active [] last 10:00", "event Normal SawCompletedJob: Saw completed job: " + cronjobtest.NameOf(0) + ", condition: Failed", "again after 5m0s"},
		},
		{"one is missing", cronjobtest.New(cronjobtest.Active(0)), nil, 5, []string{"active [] last 10:00", "event Normal MissingJob: Active job went missing: " + cronjobtest.NameOf(0), "again after 5m0s"}},
		{"one was started just before a crash", cronjobtest.New(), []*batchv1.Job{cronjobtest.JobOf(10)}, 10, []string{"active [" + cronjobtest.NameOf(10) + "] last 10:10", "again after 10m0s"}},
		{"and has ended since", cronjobtest.New(), []*batchv1.Job{cronjobtest.JobOf(10, complete)}, 12, []string{"active [] last 10:10 success 10:11", "again after 8m0s"}},
		{
			"one that another client created", cronjobtest.New(),
			[]*batchv1.Job{manual(cronjobtest.JobOf(5))},
			6,
			[]string{"active [] last 10:00", "event Warning UnexpectedJob: Saw a job that the controller did not create or forgot: manual", "again after 4m0s"},
		},
		{
			"the oldest finished ones go", cronjobtest.New(),
			[]*batchv1.Job{cronjobtest.JobOf(-10, failed), cronjobtest.JobOf(-20, complete), cronjobtest.JobOf(-40, complete), cronjobtest.JobOf(-30, complete), cronjobtest.JobOf(-50, complete), cronjobtest.JobOf(-60, failed)},
			5,
			[]string{"active [] last 10:00 success 09:41", "delete " + cronjobtest.NameOf(-50) + " " + cronjobtest.NameOf(-40), "delete " + cronjobtest.NameOf(-60), "again after 5m0s"},
		},
		{
			"an unreadable schedule", cronjobtest.New(cronjobtest.Spec(func(s *batchv1.CronJobSpec) { s.Schedule = "x" })), nil, 5,
			[]string{"active [] last 10:00", "event Warning UnparseableSchedule: unparseable schedule: \"x\" : expected exactly 5 fields, found 1: [x]"},
		},
		{
			"a day that never comes", cronjobtest.New(cronjobtest.Spec(func(s *batchv1.CronJobSpec) { s.Schedule = "0 0 31 2 *" })), nil, 5,
			[]string{"active [] last 10:00", "event Warning InvalidSchedule: invalid schedule: 0 0 31 2 * : time difference between two schedules is less than 1 second"},
		},
		{
			"an unknown zone", cronjobtest.New(cronjobtest.Spec(func(s *batchv1.CronJobSpec) { s.TimeZone = ptr.To("Mars/Olympus") })), nil, 5,
			[]string{"active [] last 10:00", "event Warning UnknownTimeZone: invalid timeZone: \"Mars/Olympus\": unknown time zone Mars/Olympus"},
		},
		{
			"an unknown zone while it is suspended",
			cronjobtest.New(cronjobtest.Spec(func(s *batchv1.CronJobSpec) { s.TimeZone, s.Suspend = ptr.To("Mars/Olympus"), ptr.To(true) })), nil, 10,
			[]string{"active [] last 10:00", "event Warning UnknownTimeZone: invalid timeZone: \"Mars/Olympus\": unknown time zone Mars/Olympus"},
		},
		{
			"a zone in the schedule", cronjobtest.New(cronjobtest.Spec(func(s *batchv1.CronJobSpec) { s.Schedule = "TZ=UTC */10 * * * *" })), nil, 9,
			[]string{
				"active [] last 10:00",
				"event Warning UnsupportedSchedule: CRON_TZ or TZ used in schedule \"TZ=UTC */10 * * * *\" is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
				"again after 1m0s",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, summary(CronJob(Snapshot{CronJob: tc.cj, Jobs: tc.jobs}, cronjobtest.Minute(tc.now)))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConclude checks that the status contains the created Job and its scheduled time.
func TestConclude(t *testing.T) {
	cj := cronjobtest.New()
	p := CronJob(Snapshot{CronJob: cj}, cronjobtest.Minute(10))
	if status := Conclude(cj, p, nil); status != nil {
		t.Errorf("nothing was started, and the status becomes %+v", status)
	}
	status := Conclude(cj, p, cronjobtest.JobOf(10))
	if status == nil || len(status.Active) != 1 || status.Active[0].Name != cronjobtest.NameOf(10) || !status.LastScheduleTime.Time.Equal(cronjobtest.Minute(10)) {
		t.Errorf("status = %+v", status)
	}
}
