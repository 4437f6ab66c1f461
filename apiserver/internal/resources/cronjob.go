package resources

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func cronJobRow() *Resource {
	kind := batchv1.SchemeGroupVersion.WithKind("CronJob")
	newCronJob := func() runtime.Object { return &batchv1.CronJob{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "cronjobs",
		ShortNames:       []string{"cj"},
		Categories:       []string{"all"},
		Namespaced:       true,
		New:              newCronJob,
		NewList:          func() runtime.Object { return &batchv1.CronJobList{} },
		Strategy: Strategy{
			Default:        on(defaultCronJob),
			Generation:     true,
			Warnings:       warn(warnings.CronJob),
			Validate:       check(validation.CronJob),
			ValidateUpdate: checkUpdate(validation.CronJobUpdate),
		},
		Subresources: []Subresource{statusOf(kind, newCronJob)},
	}
}

func defaultCronJob(c *batchv1.CronJob) {
	setDefault(&c.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	pointDefault(&c.Spec.Suspend, false)
	pointDefault(&c.Spec.SuccessfulJobsHistoryLimit, 3)
	pointDefault(&c.Spec.FailedJobsHistoryLimit, 1)
	if p := c.Spec.JobTemplate.Spec.PodFailurePolicy; p != nil {
		defaultFailurePolicy(p)
	}
	defaultPodSpec(&c.Spec.JobTemplate.Spec.Template.Spec)
}
