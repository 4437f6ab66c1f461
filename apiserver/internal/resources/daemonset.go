package resources

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func daemonSetRow() *Resource {
	kind := appsv1.SchemeGroupVersion.WithKind("DaemonSet")
	newDaemonSet := func() runtime.Object { return &appsv1.DaemonSet{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "daemonsets",
		ShortNames:       []string{"ds"},
		Categories:       []string{"all"},
		Namespaced:       true,
		New:              newDaemonSet,
		NewList:          func() runtime.Object { return &appsv1.DaemonSetList{} },
		Strategy: Strategy{
			Default:              on(defaultDaemonSet),
			PrepareCreate:        on(prepareDaemonSet),
			PrepareUpdate:        onUpdate(prepareDaemonSetUpdate),
			PrepareStatusUpdate:  onUpdate(func(d, old *appsv1.DaemonSet) { setTemplateGeneration(d, templateGeneration(old)) }),
			Generation:           true,
			Warnings:             warn(warnings.DaemonSet),
			Validate:             check(validation.DaemonSet),
			ValidateUpdate:       checkUpdate(validation.DaemonSetUpdate),
			ValidateStatusUpdate: checkUpdate(validation.DaemonSetStatus),
		},
		Subresources: []Subresource{statusOf(kind, newDaemonSet)},
	}
}

func defaultDaemonSet(d *appsv1.DaemonSet) {
	pointDefault(&d.Spec.RevisionHistoryLimit, 10)
	setDefault(&d.Spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if d.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		if d.Spec.UpdateStrategy.RollingUpdate == nil {
			d.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{}
		}
		pointDefault(&d.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		pointDefault(&d.Spec.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	defaultPodSpec(&d.Spec.Template.Spec)
	// A client that omits the value has set it to zero, and owns the field.
	setTemplateGeneration(d, templateGeneration(d))
}

// The template's generation was a field in the API's beta versions; now it is an
// annotation, which the controller reads and only the server writes.

func prepareDaemonSet(d *appsv1.DaemonSet) {
	setTemplateGeneration(d, max(templateGeneration(d), 1))
}

func prepareDaemonSetUpdate(d, old *appsv1.DaemonSet) {
	generation := templateGeneration(old)
	if !apiequality.Semantic.DeepEqual(d.Spec.Template, old.Spec.Template) {
		generation++
	}
	setTemplateGeneration(d, generation)
}

func templateGeneration(d *appsv1.DaemonSet) int64 {
	generation, err := strconv.ParseInt(d.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return 0
	}
	return generation
}

func setTemplateGeneration(d *appsv1.DaemonSet, generation int64) {
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	d.Annotations[appsv1.DeprecatedTemplateGeneration] = strconv.FormatInt(generation, 10)
}
