package resources

import (
	"fmt"
	"math"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func jobRow() *Resource {
	kind := batchv1.SchemeGroupVersion.WithKind("Job")
	newJob := func() runtime.Object { return &batchv1.Job{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "jobs",
		Categories:       []string{"all"},
		Namespaced:       true,
		New:              newJob,
		NewList:          func() runtime.Object { return &batchv1.JobList{} },
		SelectableFields: []string{"status.successful"},
		UnknownField:     func(label string) string { return fmt.Sprintf("field label %q not supported for Job", label) },
		Field:            fieldOf(jobField),
		Strategy: Strategy{
			Default:              on(defaultJob),
			PrepareCreate:        on(prepareJob),
			Generation:           true,
			Validate:             check(validation.Job),
			ValidateUpdate:       checkUpdate(validation.JobUpdate),
			ValidateStatusUpdate: checkUpdate(validation.JobStatus),
			Warnings:             ofWorkload(warnings.Job),
			DeleteWarning:        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
			OrphanByDefault:      true,
		},
		Subresources: []Subresource{statusOf(kind, newJob)},
	}
}

func jobField(job *batchv1.Job, label string) string {
	if label == "status.successful" {
		return strconv.Itoa(int(job.Status.Succeeded))
	}
	return ""
}

func defaultJob(job *batchv1.Job) {
	spec := &job.Spec
	pointDefault(&spec.ManualSelector, false)
	// A job with parallelism but without completions has a work queue; a job with
	// neither has one pod.
	if spec.Completions == nil && spec.Parallelism == nil {
		pointDefault(&spec.Completions, 1)
	}
	pointDefault(&spec.Parallelism, 1)
	if spec.BackoffLimit == nil {
		if spec.BackoffLimitPerIndex != nil {
			pointDefault(&spec.BackoffLimit, noBackoffLimit)
		} else {
			pointDefault(&spec.BackoffLimit, 6)
		}
	}
	if len(job.Labels) == 0 {
		// The labels are the template's, to which generateSelector adds.
		job.Labels = spec.Template.Labels
	}
	pointDefault(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	pointDefault(&spec.Suspend, false)
	if spec.PodFailurePolicy == nil {
		pointDefault(&spec.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	} else {
		pointDefault(&spec.PodReplacementPolicy, batchv1.Failed)
		defaultFailurePolicy(spec.PodFailurePolicy)
	}
	defaultPodSpec(&spec.Template.Spec)
}

func defaultFailurePolicy(p *batchv1.PodFailurePolicy) {
	for i := range p.Rules {
		for j := range p.Rules[i].OnPodConditions {
			setDefault(&p.Rules[i].OnPodConditions[j].Status, corev1.ConditionTrue)
		}
	}
}

// noBackoffLimit is the value for no limit: then only the limits per index count.
const noBackoffLimit int32 = math.MaxInt32

func copyOf(labels map[string]string) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	c := make(map[string]string, len(labels))
	for k, v := range labels {
		c[k] = v
	}
	return c
}

// prepareJob sets the selector and the labels by which a job identifies its pods.
func prepareJob(job *batchv1.Job) {
	if !ptr.Deref(job.Spec.ManualSelector, false) {
		generateSelector(job)
	}
	if len(job.Labels) == 0 && len(utilvalidation.IsValidLabelValue(job.Name)) == 0 {
		// Upstream adds these after the job is stored.
		job.Labels = copyOf(job.Spec.Template.Labels)
	}
}

func generateSelector(job *batchv1.Job) {
	labels := job.Spec.Template.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	for key, value := range map[string]string{
		batchv1.JobNameLabel:                job.Name,
		validation.LegacyJobNameLabel:       job.Name,
		batchv1.ControllerUidLabel:          string(job.UID),
		validation.LegacyControllerUIDLabel: string(job.UID),
	} {
		// A value that the client has set is kept, and rejected later if it differs.
		if _, set := labels[key]; !set {
			labels[key] = value
		}
	}
	job.Spec.Template.Labels = labels
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{}
	}
	if job.Spec.Selector.MatchLabels == nil {
		job.Spec.Selector.MatchLabels = map[string]string{}
	}
	if _, set := job.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel]; !set {
		job.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel] = string(job.UID)
	}
}
