package resources

import (
	appsv1 "k8s.io/api/apps/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func deploymentRow() *Resource {
	kind := appsv1.SchemeGroupVersion.WithKind("Deployment")
	newDeployment := func() runtime.Object { return &appsv1.Deployment{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "deployments",
		ShortNames:       []string{"deploy"},
		Categories:       []string{"all"},
		Namespaced:       true,
		New:              newDeployment,
		NewList:          func() runtime.Object { return &appsv1.DeploymentList{} },
		Strategy: Strategy{
			StatusKeeps:          []string{"metadata.labels"},
			PrepareUpdate:        onUpdate(prepareDeploymentUpdate),
			PrepareStatusUpdate:  onUpdate(func(d, old *appsv1.Deployment) { keepAnnotations(d, old, appsv1.DeprecatedRollbackTo) }),
			Default:              on(defaultDeployment),
			Generation:           true,
			Warnings:             ofWorkload(warnings.Deployment),
			Validate:             check(validation.Deployment),
			ValidateUpdate:       checkUpdate(validation.DeploymentUpdate),
			ValidateStatusUpdate: checkUpdate(validation.DeploymentStatus),
		},
		Subresources: []Subresource{
			scaleOf(
				func(obj runtime.Object) scalable {
					d := obj.(*appsv1.Deployment)
					return scalable{&d.ObjectMeta, d.Spec.Replicas, d.Status.Replicas, d.Spec.Selector}
				},
				func(obj runtime.Object, replicas int32) { obj.(*appsv1.Deployment).Spec.Replicas = &replicas },
			),
			statusOf(kind, newDeployment),
		},
	}
}

// prepareDeploymentUpdate counts changes of the annotations, too: the controller copies them to the ReplicaSets.
func prepareDeploymentUpdate(d, old *appsv1.Deployment) {
	if !apiequality.Semantic.DeepEqual(d.Annotations, old.Annotations) {
		d.Generation = old.Generation + 1
	}
}

func defaultDeployment(d *appsv1.Deployment) {
	pointDefault(&d.Spec.Replicas, 1)
	pointDefault(&d.Spec.RevisionHistoryLimit, 10)
	pointDefault(&d.Spec.ProgressDeadlineSeconds, 600)
	setDefault(&d.Spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		if d.Spec.Strategy.RollingUpdate == nil {
			d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{}
		}
		pointDefault(&d.Spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		pointDefault(&d.Spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	defaultPodSpec(&d.Spec.Template.Spec)
}
