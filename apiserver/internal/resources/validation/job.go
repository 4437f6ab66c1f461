package validation

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The limits of an Indexed job: the indexes that have ended are listed in its status,
// whose size is limited.
const (
	maxIndexedParallelism = 100000
	maxFailedIndexes      = 100000
	ManyCompletions       = 100000
	ParallelismOfMany     = 10000
	failedIndexesOfMany   = 10000
	maxManagedByLength    = 63
)

func Job(job *batchv1.Job) field.ErrorList {
	p := field.NewPath("spec")
	errs := validateGeneratedSelector(job)
	errs = append(errs, validateJobSpec(p, &job.Spec)...)
	errs = append(errs, validateJobSelector(p, &job.Spec)...)
	if deref(job.Spec.CompletionMode) == batchv1.IndexedCompletion && deref(job.Spec.Completions) > 0 {
		longest := fmt.Sprintf("%s-%d", job.Name, *job.Spec.Completions-1)
		if len(isDNSLabel(longest)) > 0 {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), job.Name, "will not able to create pod with invalid DNS label: "+longest))
		}
	}
	return errs
}

// validateGeneratedSelector requires that the client's values do not contradict the
// selector and labels that prepareJob has set.
func validateGeneratedSelector(job *batchv1.Job) field.ErrorList {
	if deref(job.Spec.ManualSelector) || job.Spec.Selector == nil {
		return nil
	}
	var errs field.ErrorList
	if job.UID == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "uid"), ""))
	}
	p := field.NewPath("spec", "template", "metadata", "labels")
	wanted := labels.Set{}
	for _, label := range []struct{ key, value string }{
		{LegacyControllerUIDLabel, string(job.UID)},
		{LegacyJobNameLabel, job.Name},
		{batchv1.ControllerUidLabel, string(job.UID)},
		{batchv1.JobNameLabel, job.Name},
	} {
		wanted[label.key] = label.value
		switch has, set := job.Spec.Template.Labels[label.key]; {
		case !set:
			errs = append(errs, field.Required(p.Key(label.key), fmt.Sprintf("must be '%s'", label.value)))
		case has != label.value:
			errs = append(errs, field.Invalid(p.Key(label.key), job.Spec.Template.Labels, fmt.Sprintf("must be '%s'", label.value)))
		}
	}
	if selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector); err == nil && !selector.Matches(wanted) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "selector"), job.Spec.Selector, "`selector` not auto-generated"))
	}
	return errs
}

func validateJobSelector(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	errs := validateSelector(p.Child("selector"), spec.Selector)
	if spec.Selector == nil {
		errs = append(errs, field.Required(p.Child("selector"), ""))
	}
	if selector, err := metav1.LabelSelectorAsSelector(spec.Selector); err == nil && !selector.Matches(labels.Set(spec.Template.Labels)) {
		errs = append(errs, field.Invalid(p.Child("template", "metadata", "labels"), spec.Template.Labels, "`selector` does not match template `labels`"))
	}
	return errs
}

// validateJobSpec validates the fields that a job and a cron job's template share.
func validateJobSpec(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	errs := nonNegativePointer(p.Child("parallelism"), spec.Parallelism)
	errs = append(errs, nonNegativePointer(p.Child("completions"), spec.Completions)...)
	errs = append(errs, nonNegativePointer(p.Child("activeDeadlineSeconds"), spec.ActiveDeadlineSeconds)...)
	errs = append(errs, nonNegativePointer(p.Child("backoffLimit"), spec.BackoffLimit)...)
	errs = append(errs, nonNegativePointer(p.Child("ttlSecondsAfterFinished"), spec.TTLSecondsAfterFinished)...)
	errs = append(errs, nonNegativePointer(p.Child("backoffLimitPerIndex"), spec.BackoffLimitPerIndex)...)
	errs = append(errs, nonNegativePointer(p.Child("maxFailedIndexes"), spec.MaxFailedIndexes)...)
	if spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Required(p.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
	}
	if by := spec.ManagedBy; by != nil {
		errs = append(errs, validation.IsDomainPrefixedPath(p.Child("managedBy"), *by)...)
		if len(*by) > maxManagedByLength {
			errs = append(errs, field.TooLong(p.Child("managedBy"), *by, maxManagedByLength))
		}
	}
	errs = append(errs, validateCompletionMode(p, spec)...)
	if spec.PodFailurePolicy != nil {
		errs = append(errs, validatePodFailurePolicy(p.Child("podFailurePolicy"), spec)...)
	}
	if spec.SuccessPolicy != nil {
		errs = append(errs, validateSuccessPolicy(p.Child("successPolicy"), spec)...)
	}
	if policy := spec.PodReplacementPolicy; policy != nil {
		allowed := []batchv1.PodReplacementPolicy{batchv1.Failed, batchv1.TerminatingOrFailed}
		if spec.PodFailurePolicy != nil {
			allowed = allowed[:1]
		}
		errs = append(errs, oneOf(p.Child("podReplacementPolicy"), *policy, allowed...)...)
	}
	errs = append(errs, validateTemplate(p.Child("template"), &spec.Template)...)
	return append(errs, validateJobRestart(p.Child("template", "spec", "restartPolicy"), spec)...)
}

// validateJobRestart requires a restart policy with which pods can terminate. An
// omitted policy has its default at this point, which is invalid.
func validateJobRestart(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	const onFailure, never = corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever
	switch policy := spec.Template.Spec.RestartPolicy; policy {
	case "", corev1.RestartPolicyAlways:
		return field.ErrorList{field.Required(p, fmt.Sprintf("valid values: %q, %q", onFailure, never))}
	case never:
		return nil
	case onFailure:
		if spec.PodFailurePolicy != nil {
			return field.ErrorList{field.Invalid(p, policy, fmt.Sprintf("only %q is supported when podFailurePolicy is specified", never))}
		}
		return nil
	default:
		return oneOf(p, policy, onFailure, never)
	}
}

func validateCompletionMode(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	if mode := spec.CompletionMode; mode != nil && *mode != batchv1.NonIndexedCompletion {
		errs := oneOf(p.Child("completionMode"), *mode, batchv1.NonIndexedCompletion, batchv1.IndexedCompletion)
		if *mode == batchv1.IndexedCompletion {
			errs = append(errs, validateIndexed(p, spec)...)
		}
		return errs
	}
	const indexedOnly = "requires indexed completion mode"
	var errs field.ErrorList
	if spec.BackoffLimitPerIndex != nil {
		errs = append(errs, field.Invalid(p.Child("backoffLimitPerIndex"), *spec.BackoffLimitPerIndex, indexedOnly))
	}
	if spec.MaxFailedIndexes != nil {
		errs = append(errs, field.Invalid(p.Child("maxFailedIndexes"), *spec.MaxFailedIndexes, indexedOnly))
	}
	return errs
}

func validateIndexed(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	var errs field.ErrorList
	if spec.Completions == nil {
		errs = append(errs, field.Required(p.Child("completions"), fmt.Sprintf("when completion mode is %s", batchv1.IndexedCompletion)))
	}
	atMost := func(name string, value *int32, limit int32, when string) {
		if value != nil && *value > limit {
			errs = append(errs, field.Invalid(p.Child(name), *value, fmt.Sprintf("must be less than or equal to %d%s", limit, when)))
		}
	}
	atMost("parallelism", spec.Parallelism, maxIndexedParallelism, fmt.Sprintf(" when completion mode is %s", batchv1.IndexedCompletion))
	failed := spec.MaxFailedIndexes
	if spec.Completions != nil && failed != nil && *failed > *spec.Completions {
		errs = append(errs, field.Invalid(p.Child("maxFailedIndexes"), *failed, "must be less than or equal to completions"))
	}
	atMost("maxFailedIndexes", failed, maxFailedIndexes, "")
	if deref(spec.Completions) <= ManyCompletions || spec.BackoffLimitPerIndex == nil {
		return errs
	}
	if failed == nil {
		errs = append(errs, field.Required(p.Child("maxFailedIndexes"), fmt.Sprintf("must be specified when completions is above %d", ManyCompletions)))
	}
	when := fmt.Sprintf(" when completions are above %d and used with backoff limit per index", ManyCompletions)
	atMost("parallelism", spec.Parallelism, ParallelismOfMany, when)
	atMost("maxFailedIndexes", failed, failedIndexesOfMany, when)
	return errs
}

func JobUpdate(job, old *batchv1.Job) field.ErrorList {
	spec, was, p := &job.Spec, &old.Spec, field.NewPath("spec")
	errs := validateCompletionsUpdate(p, spec, was)
	errs = append(errs, immutable(p.Child("selector"), spec.Selector, was.Selector)...)
	template := &was.Template
	if suspendedYet(old) {
		template = withDirectivesOf(&spec.Template, template)
	}
	errs = append(errs, immutable(p.Child("template"), &spec.Template, template)...)
	errs = append(errs, immutable(p.Child("completionMode"), spec.CompletionMode, was.CompletionMode)...)
	errs = append(errs, immutable(p.Child("podFailurePolicy"), spec.PodFailurePolicy, was.PodFailurePolicy)...)
	errs = append(errs, immutable(p.Child("backoffLimitPerIndex"), spec.BackoffLimitPerIndex, was.BackoffLimitPerIndex)...)
	errs = append(errs, immutable(p.Child("managedBy"), spec.ManagedBy, was.ManagedBy)...)
	return append(errs, immutable(p.Child("successPolicy"), spec.SuccessPolicy, was.SuccessPolicy)...)
}

// validateCompletionsUpdate allows an Indexed job whose parallelism equals its
// completions to grow and shrink (KEP-3715).
func validateCompletionsUpdate(p *field.Path, spec, was *batchv1.JobSpec) field.ErrorList {
	at := p.Child("completions")
	if deref(spec.CompletionMode) != batchv1.IndexedCompletion {
		return immutable(at, spec.Completions, was.Completions)
	}
	if spec.Completions == nil || apiequality.Semantic.DeepEqual(spec.Completions, was.Completions) || *spec.Completions == deref(spec.Parallelism) {
		return nil
	}
	return field.ErrorList{field.Invalid(at, spec.Completions, "can only be modified in tandem with spec.parallelism")}
}

// suspendedYet reports that no pods of a job can be on a node, so that their scheduling
// directives (KEP-2926) and resources may still change.
func suspendedYet(job *batchv1.Job) bool {
	return deref(job.Spec.Suspend) && (job.Status.StartTime == nil || jobCondition(job, batchv1.JobSuspended))
}

// withDirectivesOf returns was with the fields that may change while a job is suspended
// copied from template; the remaining differences are forbidden.
func withDirectivesOf(template, was *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	was = was.DeepCopy()
	was.Labels, was.Annotations = template.Labels, template.Annotations
	spec, now := &was.Spec, &template.Spec
	spec.NodeSelector, spec.Tolerations, spec.SchedulingGates = now.NodeSelector, now.Tolerations, now.SchedulingGates
	affinity := corev1.Affinity{}
	if spec.Affinity != nil {
		affinity = *spec.Affinity
	}
	affinity.NodeAffinity = nil
	if now.Affinity != nil {
		affinity.NodeAffinity = now.Affinity.NodeAffinity
	}
	spec.Affinity = &affinity
	if now.Affinity == nil && affinity == (corev1.Affinity{}) {
		spec.Affinity = nil
	}
	takeResources(spec.Containers, now.Containers)
	takeResources(spec.InitContainers, now.InitContainers)
	return was
}

func takeResources(containers, now []corev1.Container) {
	for i := range min(len(containers), len(now)) {
		containers[i].Resources = now[i].Resources
	}
}

// The labels of a job's pods, from before they had the API group's prefix.
const (
	LegacyControllerUIDLabel = "controller-uid"
	LegacyJobNameLabel       = "job-name"
)
