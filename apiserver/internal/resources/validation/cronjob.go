package validation

import (
	"regexp"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// maxCronJobName leaves room for the time in the names of the cron job's jobs.
const maxCronJobName = 52

func CronJob(c *batchv1.CronJob) field.ErrorList {
	spec, p := &c.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if spec.Schedule == "" {
		errs = append(errs, field.Required(p.Child("schedule"), ""))
	} else if _, err := cron.ParseStandard(spec.Schedule); err != nil {
		errs = append(errs, field.Invalid(p.Child("schedule"), spec.Schedule, err.Error()))
	}
	creating := c.ResourceVersion == ""
	if creating {
		errs = append(errs, validateNewCronJob(p, spec)...)
	}
	errs = append(errs, nonNegativePointer(p.Child("startingDeadlineSeconds"), spec.StartingDeadlineSeconds)...)
	errs = append(errs, requiredOneOf(p.Child("concurrencyPolicy"), spec.ConcurrencyPolicy,
		batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)...)
	errs = append(errs, validateJobTemplate(p.Child("jobTemplate", "spec"), &spec.JobTemplate.Spec)...)
	errs = append(errs, nonNegativePointer(p.Child("successfulJobsHistoryLimit"), spec.SuccessfulJobsHistoryLimit)...)
	errs = append(errs, nonNegativePointer(p.Child("failedJobsHistoryLimit"), spec.FailedJobsHistoryLimit)...)
	if creating && len(c.Name) > maxCronJobName {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), c.Name, "must be no more than 52 characters"))
	}
	return errs
}

func validateNewCronJob(p *field.Path, spec *batchv1.CronJobSpec) field.ErrorList {
	errs := zoneOutsideSchedule(p.Child("schedule"), spec.Schedule)
	return append(errs, validateTimeZone(p.Child("timeZone"), spec.TimeZone)...)
}

func zoneOutsideSchedule(p *field.Path, schedule string) field.ErrorList {
	if !strings.Contains(schedule, "TZ") {
		return nil
	}
	return field.ErrorList{field.Invalid(p, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")}
}

// validateJobTemplate validates a template of jobs, which must not have a selector.
func validateJobTemplate(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	errs := validateJobSpec(p, spec)
	if spec.Selector != nil {
		errs = append(errs, field.Invalid(p.Child("selector"), spec.Selector, "`selector` will be auto-generated"))
	}
	if deref(spec.ManualSelector) {
		errs = append(errs, field.NotSupported(p.Child("manualSelector"), spec.ManualSelector, []string{"nil", "false"}))
	}
	return errs
}

// timeZonePart matches a part between the slashes of a time zone's name.
var timeZonePart = regexp.MustCompile(`^[A-Za-z._0-9+-]{1,14}$`)

func validateTimeZone(p *field.Path, zone *string) field.ErrorList {
	if zone == nil {
		return nil
	}
	if *zone == "" {
		return field.ErrorList{field.Invalid(p, zone, "timeZone must be nil or non-empty string")}
	}
	for part := range strings.SplitSeq(*zone, "/") {
		if part == "." || part == ".." || strings.HasPrefix(part, "-") || !timeZonePart.MatchString(part) {
			return field.ErrorList{field.Invalid(p, zone, "unknown time zone "+*zone)}
		}
	}
	var errs field.ErrorList
	if strings.EqualFold(*zone, "Local") {
		errs = append(errs, field.Invalid(p, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	}
	if _, err := time.LoadLocation(*zone); err != nil {
		errs = append(errs, field.Invalid(p, zone, err.Error()))
	}
	return errs
}

func CronJobUpdate(c, old *batchv1.CronJob) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	switch inZone := strings.Contains(old.Spec.Schedule, "TZ"); {
	case !inZone:
		errs = zoneOutsideSchedule(p.Child("schedule"), c.Spec.Schedule)
	case strings.Contains(c.Spec.Schedule, "TZ") && c.Spec.TimeZone != nil:
		errs = field.ErrorList{field.Invalid(p.Child("schedule"), c.Spec.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")}
	}
	if !ptr.Equal(c.Spec.TimeZone, old.Spec.TimeZone) {
		errs = append(errs, validateTimeZone(p.Child("timeZone"), c.Spec.TimeZone)...)
	}
	return errs
}
