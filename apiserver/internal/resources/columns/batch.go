package columns

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Job is the Table of batch/v1 Jobs.
func Job() Table {
	columns := []column{
		nameColumn(),
		text("Status", "The state that the job is in."),
		text("Completions", batchv1.JobStatus{}.SwaggerDoc()["succeeded"]),
		text("Duration", "For how long the job ran or has run."),
		ageColumn(),
	}
	columns = append(columns, containerColumns()...)
	columns = append(columns, wide(text("Selector", batchv1.JobSpec{}.SwaggerDoc()["selector"])))
	return table(func(job *batchv1.Job, now time.Time) []any {
		names, images := containerCells(job.Spec.Template.Spec.Containers)
		return []any{
			job.Name, jobStatus(job), completions(job), jobDuration(job, now), age(job.CreationTimestamp, now),
			names, images, metav1.FormatLabelSelector(job.Spec.Selector),
		}
	}, columns...)
}

// completions returns "1/3", or "1/1 of 4" for a job with a work queue.
func completions(job *batchv1.Job) string {
	switch parallelism := deref(job.Spec.Parallelism); {
	case job.Spec.Completions != nil:
		return fmt.Sprintf("%d/%d", job.Status.Succeeded, *job.Spec.Completions)
	case parallelism > 1:
		return fmt.Sprintf("%d/1 of %d", job.Status.Succeeded, parallelism)
	}
	return fmt.Sprintf("%d/1", job.Status.Succeeded)
}

func jobDuration(job *batchv1.Job, now time.Time) string {
	switch s := &job.Status; {
	case s.StartTime == nil:
		return ""
	case s.CompletionTime == nil:
		return duration.HumanDuration(now.Sub(s.StartTime.Time))
	default:
		return duration.HumanDuration(s.CompletionTime.Sub(s.StartTime.Time))
	}
}

func jobStatus(job *batchv1.Job) string {
	is := func(of batchv1.JobConditionType) bool {
		return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == of && c.Status == corev1.ConditionTrue
		})
	}
	switch {
	case is(batchv1.JobComplete):
		return "Complete"
	case is(batchv1.JobFailed):
		return "Failed"
	case job.DeletionTimestamp != nil:
		return "Terminating"
	case is(batchv1.JobSuspended):
		return "Suspended"
	case is(batchv1.JobFailureTarget):
		return "FailureTarget"
	case is(batchv1.JobSuccessCriteriaMet):
		return "SuccessCriteriaMet"
	}
	return "Running"
}

// CronJob is the Table of batch/v1 CronJobs.
func CronJob() Table {
	spec, status := batchv1.CronJobSpec{}.SwaggerDoc(), batchv1.CronJobStatus{}.SwaggerDoc()
	columns := []column{
		nameColumn(),
		text("Schedule", spec["schedule"]),
		text("Timezone", spec["timeZone"]),
		boolean("Suspend", spec["suspend"]),
		integer("Active", status["active"]),
		text("Last Schedule", status["lastScheduleTime"]),
		ageColumn(),
	}
	columns = append(columns, containerColumns()...)
	columns = append(columns, wide(text("Selector", batchv1.JobSpec{}.SwaggerDoc()["selector"])))
	return table(func(c *batchv1.CronJob, now time.Time) []any {
		names, images := containerCells(c.Spec.JobTemplate.Spec.Template.Spec.Containers)
		last := none
		if c.Status.LastScheduleTime != nil {
			last = age(*c.Status.LastScheduleTime, now)
		}
		suspended := unset
		if c.Spec.Suspend != nil {
			suspended = boolText(*c.Spec.Suspend)
		}
		zone := none
		if c.Spec.TimeZone != nil {
			zone = *c.Spec.TimeZone
		}
		return []any{
			c.Name, c.Spec.Schedule, zone, suspended, int64(len(c.Status.Active)), last, age(c.CreationTimestamp, now),
			names, images, metav1.FormatLabelSelector(c.Spec.JobTemplate.Spec.Selector),
		}
	}, columns...)
}

// boolText returns "True" or "False".
func boolText(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
