package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/job/conditions"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

// Kind is the kind of this controller's owners.
var Kind = batchv1.SchemeGroupVersion.WithKind("CronJob")

// Snapshot is the input of a decision besides the time. The decision does not change it.
type Snapshot struct {
	CronJob *batchv1.CronJob
	// Jobs are the Jobs that the CronJob controls.
	Jobs []*batchv1.Job
}

// Plan is the decision about one CronJob. It is executed in the order Actions, Start,
// status, Tidy. The status does not include the started Job yet: see Conclude.
type Plan struct {
	plan.Plan[batchv1.CronJobStatus]
	// Start is the Job to create, or nil.
	Start *batchv1.Job
	// At is the scheduled time of Start.
	At time.Time
	// Tidy deletes finished Jobs beyond the history limits.
	Tidy []plan.Action
}

// CronJob returns the Job that is due, if any, and deletions of finished Jobs beyond the
// history limits, and updates the status from the Jobs.
func CronJob(in Snapshot, now time.Time) Plan {
	d := &decision{cj: in.CronJob, jobs: in.Jobs, now: now, status: in.CronJob.Status.DeepCopy()}
	d.observe()
	if in.CronJob.DeletionTimestamp == nil {
		d.schedule()
	}
	d.tidy()
	d.plan.Status = d.status
	return d.plan
}

func suspended(cj *batchv1.CronJob) bool { return cj.Spec.Suspend != nil && *cj.Spec.Suspend }

// decision is the state of a decision while it is made.
type decision struct {
	cj     *batchv1.CronJob
	jobs   []*batchv1.Job
	now    time.Time
	status *batchv1.CronJobStatus
	plan   Plan
}

func (d *decision) record(kind, reason, format string, args ...any) {
	d.plan.Events = append(d.plan.Events, plan.Event{Type: kind, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// observe updates the status from the Jobs.
func (d *decision) observe() {
	exists := map[types.UID]bool{}
	for _, j := range d.jobs {
		exists[j.UID] = true
		heeded := d.heed(j)
		finished := conditions.Finished(j)
		active := slices.ContainsFunc(d.status.Active, func(ref corev1.ObjectReference) bool { return ref.UID == j.UID })
		switch {
		case finished == nil && !active && j.DeletionTimestamp == nil:
			d.meet(j, heeded)
		case finished != nil && active:
			d.drop(j.UID)
			d.record(corev1.EventTypeNormal, "SawCompletedJob", "Saw completed job: %s, condition: %v", j.Name, finished.Type)
		}
		if finished != nil && finished.Type == batchv1.JobComplete {
			d.succeeded(j.Status.CompletionTime)
		}
	}
	for _, ref := range d.cj.Status.Active {
		if !exists[ref.UID] {
			d.drop(ref.UID)
			d.record(corev1.EventTypeNormal, "MissingJob", "Active job went missing: %v", ref.Name)
		}
	}
}

func (d *decision) drop(uid types.UID) {
	d.status.Active = slices.DeleteFunc(d.status.Active, func(ref corev1.ObjectReference) bool { return ref.UID == uid })
}

func (d *decision) succeeded(at *metav1.Time) {
	if at != nil && (d.status.LastSuccessfulTime == nil || at.After(d.status.LastSuccessfulTime.Time)) {
		d.status.LastSuccessfulTime = at
	}
}

// heed reports whether the Job was started for a scheduled time. If so, it records the time as
// handled, even if the status was never written.
func (d *decision) heed(j *batchv1.Job) bool {
	at, err := time.Parse(time.RFC3339, j.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
	if err != nil || j.Name != jobName(d.cj, at) {
		return false
	}
	heed(d.status, at)
	return true
}

func heed(status *batchv1.CronJobStatus, at time.Time) {
	if status.LastScheduleTime == nil || at.After(status.LastScheduleTime.Time) {
		status.LastScheduleTime = &metav1.Time{Time: at}
	}
}

// meet handles a running Job that is not in the status: one that was started for a
// scheduled time just before a crash, or one that the controller did not create.
func (d *decision) meet(j *batchv1.Job, heeded bool) {
	if !heeded {
		d.record(corev1.EventTypeWarning, "UnexpectedJob", "Saw a job that the controller did not create or forgot: %s", j.Name)
		return
	}
	activate(d.status, j)
}

// activate adds a running Job to the status.
func activate(status *batchv1.CronJobStatus, j *batchv1.Job) {
	status.Active = append(slices.Clip(status.Active), corev1.ObjectReference{
		APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job",
		Namespace: j.Namespace, Name: j.Name, UID: j.UID, ResourceVersion: j.ResourceVersion,
	})
}

// schedule starts the Job that is due, unless the spec forbids it, and requests a requeue
// at the next time. A suspended CronJob has neither, but its time zone is validated.
func (d *decision) schedule() {
	cj := d.cj
	zone, err := location(cj)
	if err != nil {
		d.record(corev1.EventTypeWarning, "UnknownTimeZone", "invalid timeZone: %q: %s", *cj.Spec.TimeZone, err)
		return
	}
	if suspended(cj) {
		return
	}
	if hasZone(cj.Spec.Schedule) {
		d.record(corev1.EventTypeWarning, "UnsupportedSchedule", "CRON_TZ or TZ used in schedule %q is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details", cj.Spec.Schedule)
	}
	schedule, err := parse(cj)
	if err != nil {
		d.record(corev1.EventTypeWarning, "UnparseableSchedule", "unparseable schedule: %q : %s", cj.Spec.Schedule, err)
		return
	}
	all, err := since(schedule, d.from(), d.now)
	if err != nil {
		d.record(corev1.EventTypeWarning, "InvalidSchedule", "invalid schedule: %s : %s", cj.Spec.Schedule, err)
		return
	}
	if !all.next.IsZero() {
		d.plan.RequeueAfter = all.next.Sub(d.now)
	}
	if all.recent.IsZero() || !d.allows(schedule, all) {
		return
	}
	d.replace()
	d.plan.Start, d.plan.At = jobFor(cj, all.recent, zone), all.recent
}

// from returns the time after which scheduled times have not been handled.
func (d *decision) from() time.Time {
	if last := d.status.LastScheduleTime; last != nil {
		return last.Time
	}
	return d.cj.CreationTimestamp.Time
}

// allows reports whether a Job may start for the most recent of the times.
func (d *decision) allows(schedule cron.Schedule, all occasions) bool {
	cj, at := d.cj, all.recent
	many := all.many
	if limit := cj.Spec.StartingDeadlineSeconds; limit != nil {
		earliest := d.now.Add(-time.Duration(*limit) * time.Second)
		if at.Before(earliest) {
			d.record(corev1.EventTypeWarning, "MissSchedule", "Missed scheduled time to start a job: %s", at.UTC().Format(time.RFC1123Z))
			return false
		}
		// Times before the starting deadline do not count.
		if many && earliest.After(d.from()) {
			timely, err := since(schedule, earliest, d.now)
			many = err == nil && timely.many
		}
	}
	if many {
		d.record(corev1.EventTypeWarning, "TooManyMissedTimes", "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew")
	}
	name := jobName(cj, at)
	if slices.ContainsFunc(d.status.Active, func(ref corev1.ObjectReference) bool { return ref.Name == name }) {
		return false
	}
	if cj.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && len(d.status.Active) > 0 {
		d.record(corev1.EventTypeNormal, "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")
		return false
	}
	return true
}

// replace deletes the running Jobs if the concurrency policy is Replace.
func (d *decision) replace() {
	if d.cj.Spec.ConcurrencyPolicy != batchv1.ReplaceConcurrent || len(d.status.Active) == 0 {
		return
	}
	var running []*batchv1.Job
	for _, j := range d.jobs {
		if slices.ContainsFunc(d.status.Active, func(ref corev1.ObjectReference) bool { return ref.UID == j.UID }) {
			running = append(running, j)
		}
	}
	d.plan.Actions = append(d.plan.Actions, deletion(running))
	d.status.Active = nil
}

// tidy deletes the oldest finished Jobs beyond the limits of successful and of failed Jobs.
func (d *decision) tidy() {
	limits := map[batchv1.JobConditionType]*int32{
		batchv1.JobComplete: d.cj.Spec.SuccessfulJobsHistoryLimit, batchv1.JobFailed: d.cj.Spec.FailedJobsHistoryLimit,
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		if limits[kind] == nil {
			continue
		}
		finished := slices.DeleteFunc(slices.Clone(d.jobs), func(j *batchv1.Job) bool {
			c := conditions.Finished(j)
			return c == nil || c.Type != kind || j.DeletionTimestamp != nil
		})
		slices.SortFunc(finished, byStart)
		if extra := len(finished) - int(*limits[kind]); extra > 0 {
			d.plan.Tidy = append(d.plan.Tidy, deletion(finished[:extra]))
		}
	}
}

// byStart orders Jobs by start time; those without one come last.
func byStart(a, b *batchv1.Job) int {
	switch x, y := a.Status.StartTime, b.Status.StartTime; {
	case x == nil && y != nil:
		return 1
	case x != nil && y == nil:
		return -1
	case x != nil && !x.Equal(y):
		return x.Compare(y.Time)
	}
	return cmp.Compare(a.Name, b.Name)
}

func deletion(jobs []*batchv1.Job) plan.Action {
	return plan.Action{
		Verb: plan.Delete, Objects: plan.Objects(jobs),
		Succeeded: &plan.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulDelete", Message: "Deleted job ", Detail: true},
		Failed:    &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedDelete", Message: "Deleted job: ", Detail: true},
	}
}

// Conclude returns the status to write after start was created (nil: no Job was), or nil if
// the CronJob has that status already.
func Conclude(cj *batchv1.CronJob, p Plan, start *batchv1.Job) *batchv1.CronJobStatus {
	status := *p.Status
	if start != nil {
		activate(&status, start)
		heed(&status, p.At)
	}
	if equality.Semantic.DeepEqual(status, cj.Status) {
		return nil
	}
	return &status
}
