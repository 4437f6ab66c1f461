package validation

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func jobCondition(job *batchv1.Job, of batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == of && c.Status == corev1.ConditionTrue
	})
}

func jobFinished(job *batchv1.Job) bool {
	return jobCondition(job, batchv1.JobComplete) || jobCondition(job, batchv1.JobFailed)
}

// JobStatus requires a valid transition of a job's status (KEP-4368).
func JobStatus(job, old *batchv1.Job) field.ErrorList {
	p := field.NewPath("status")
	s := &job.Status
	errs := nonNegative(p.Child("active"), s.Active)
	errs = append(errs, nonNegative(p.Child("succeeded"), s.Succeeded)...)
	errs = append(errs, nonNegative(p.Child("failed"), s.Failed)...)
	errs = append(errs, nonNegativePointer(p.Child("ready"), s.Ready)...)
	errs = append(errs, nonNegativePointer(p.Child("terminating"), s.Terminating)...)
	errs = append(errs, validateUncounted(p.Child("uncountedTerminatedPods"), s.UncountedTerminatedPods)...)
	errs = append(errs, validateJobConditions(p.Child("conditions"), job)...)
	errs = append(errs, validateJobTimes(p, job)...)
	errs = append(errs, validateFinishedJob(p, job)...)
	errs = append(errs, validateJobIndexes(p, job)...)
	if s.Ready != nil && *s.Ready > s.Active {
		errs = append(errs, field.Invalid(p.Child("ready"), *s.Ready, "cannot set more ready pods than active"))
	}
	return append(errs, validateJobCourse(p, job, old)...)
}

func validateUncounted(p *field.Path, uncounted *batchv1.UncountedTerminatedPods) field.ErrorList {
	if uncounted == nil {
		return nil
	}
	var errs field.ErrorList
	var seen nameList
	for _, part := range []struct {
		name string
		uids []types.UID
	}{{"succeeded", uncounted.Succeeded}, {"failed", uncounted.Failed}} {
		for i, uid := range part.uids {
			at := p.Child(part.name).Index(i)
			if uid == "" {
				errs = append(errs, field.Invalid(at, uid, "must not be empty"))
				continue
			}
			errs = append(errs, seen.add(at, string(uid))...)
		}
	}
	return errs
}

// validateJobConditions rejects contradicting conditions.
func validateJobConditions(p *field.Path, job *batchv1.Job) field.ErrorList {
	complete, failed := jobCondition(job, batchv1.JobComplete), jobCondition(job, batchv1.JobFailed)
	failing, succeeding := jobCondition(job, batchv1.JobFailureTarget), jobCondition(job, batchv1.JobSuccessCriteriaMet)
	var errs field.ErrorList
	for _, rule := range []struct {
		broken  bool
		message string
	}{
		{complete && failed, "cannot set Complete=True and Failed=true conditions"},
		{complete && failing, "cannot set Complete=True and FailureTarget=true conditions"},
		{failed && !failing, "cannot set Failed=True condition without the FailureTarget=true condition"},
		{complete && !succeeding, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"},
		{succeeding && failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions"},
		{succeeding && failing, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"},
	} {
		if rule.broken {
			errs = append(errs, field.Invalid(p, field.OmitValueType{}, rule.message))
		}
	}
	return errs
}

func validateJobTimes(p *field.Path, job *batchv1.Job) field.ErrorList {
	s, complete, at := &job.Status, jobCondition(job, batchv1.JobComplete), p.Child("completionTime")
	var errs field.ErrorList
	switch {
	case s.CompletionTime != nil && !complete:
		errs = append(errs, field.Invalid(at, s.CompletionTime, "cannot set completionTime when there is no Complete=True condition"))
	case s.CompletionTime == nil && complete:
		errs = append(errs, field.Required(at, "completionTime is required for Complete jobs"))
	}
	if s.StartTime != nil && s.CompletionTime != nil && s.CompletionTime.Before(s.StartTime) {
		errs = append(errs, field.Invalid(at, s.CompletionTime, "completionTime cannot be set before startTime"))
	}
	return errs
}

// validateFinishedJob requires that a finished job has a start time, and no active, terminating or
// uncounted pods.
func validateFinishedJob(p *field.Path, job *batchv1.Job) field.ErrorList {
	if !jobFinished(job) {
		return nil
	}
	var errs field.ErrorList
	s := &job.Status
	if s.Active > 0 {
		errs = append(errs, field.Invalid(p.Child("active"), s.Active, "active>0 is invalid for finished job"))
	}
	if s.StartTime == nil {
		errs = append(errs, field.Required(p.Child("startTime"), "startTime is required for finished job"))
	}
	if u := s.UncountedTerminatedPods; u != nil && len(u.Failed)+len(u.Succeeded) > 0 {
		errs = append(errs, field.Invalid(p.Child("uncountedTerminatedPods"), u, "uncountedTerminatedPods needs to be empty for finished job"))
	}
	if deref(s.Terminating) > 0 {
		errs = append(errs, field.Invalid(p.Child("terminating"), s.Terminating, "terminating>0 is invalid for finished job"))
	}
	return errs
}

func validateJobIndexes(p *field.Path, job *batchv1.Job) field.ErrorList {
	s, spec := &job.Status, &job.Spec
	var errs field.ErrorList
	indexed := deref(spec.CompletionMode) == batchv1.IndexedCompletion
	if s.CompletedIndexes != "" && !indexed {
		errs = append(errs, field.Invalid(p.Child("completedIndexes"), s.CompletedIndexes, "cannot set non-empty completedIndexes when non-indexed completion mode"))
	}
	if s.FailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Invalid(p.Child("failedIndexes"), *s.FailedIndexes, "cannot set non-null failedIndexes when backoffLimitPerIndex is null"))
	}
	if spec.Completions == nil {
		return errs
	}
	completed, err := parseIndexes(s.CompletedIndexes, *spec.Completions)
	if err != nil {
		errs = append(errs, field.Invalid(p.Child("completedIndexes"), s.CompletedIndexes, fmt.Sprintf("error parsing completedIndexes: %v", err)))
	}
	if s.FailedIndexes == nil {
		return errs
	}
	failed, err := parseIndexes(*s.FailedIndexes, *spec.Completions)
	if err != nil && spec.BackoffLimitPerIndex != nil {
		errs = append(errs, field.Invalid(p.Child("failedIndexes"), s.FailedIndexes, fmt.Sprintf("error parsing failedIndexes: %v", err)))
	}
	if index, both := commonIndex(completed, failed); both {
		errs = append(errs, field.Invalid(p.Child("failedIndexes"), *s.FailedIndexes, fmt.Sprintf("failedIndexes and completedIndexes overlap at index: %d", index)))
	}
	return errs
}

// validateJobCourse rejects transitions that revert an earlier status.
func validateJobCourse(p *field.Path, job, old *batchv1.Job) field.ErrorList {
	var errs field.ErrorList
	for _, of := range []batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete, batchv1.JobFailureTarget} {
		if jobCondition(old, of) && !jobCondition(job, of) {
			errs = append(errs, field.Invalid(p.Child("conditions"), field.OmitValueType{}, fmt.Sprintf("cannot disable the terminal %s=True condition", of)))
		}
	}
	s, was := &job.Status, &old.Status
	if s.Failed < was.Failed {
		errs = append(errs, field.Invalid(p.Child("failed"), s.Failed, "cannot decrease the failed counter"))
	}
	if s.Succeeded < was.Succeeded {
		errs = append(errs, field.Invalid(p.Child("succeeded"), s.Succeeded, "cannot decrease the succeeded counter"))
	}
	if s.CompletionTime != nil && was.CompletionTime != nil && !s.CompletionTime.Equal(was.CompletionTime) {
		errs = append(errs, field.Invalid(p.Child("completionTime"), s.CompletionTime, "completionTime cannot be mutated"))
	}
	if was.StartTime != nil && !was.StartTime.Equal(s.StartTime) && !deref(job.Spec.Suspend) {
		errs = append(errs, field.Invalid(p.Child("startTime"), s.StartTime, "startTime cannot be removed for unsuspended job"))
	}
	succeeding, wasSucceeding := jobCondition(job, batchv1.JobSuccessCriteriaMet), jobCondition(old, batchv1.JobSuccessCriteriaMet)
	if wasSucceeding && !succeeding {
		errs = append(errs, field.Invalid(p.Child("conditions"), field.OmitValueType{}, "cannot disable the SuccessCriteriaMet=True condition"))
	}
	if jobCondition(old, batchv1.JobComplete) && !wasSucceeding && succeeding {
		errs = append(errs, field.Invalid(p.Child("conditions"), field.OmitValueType{}, "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"))
	}
	return errs
}
