package resources

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func replicationControllerRow() *Resource {
	kind := corev1.SchemeGroupVersion.WithKind("ReplicationController")
	newController := func() runtime.Object { return &corev1.ReplicationController{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "replicationcontrollers",
		ShortNames:       []string{"rc"},
		Categories:       []string{"all"},
		StoragePrefix:    "controllers",
		Namespaced:       true,
		New:              newController,
		NewList:          func() runtime.Object { return &corev1.ReplicationControllerList{} },
		SelectableFields: []string{"status.replicas"},
		Field:            fieldOf(replicationControllerField),
		Strategy: Strategy{
			Default:              on(defaultReplicationController),
			Generation:           true,
			Warnings:             ofWorkload(replicationControllerWarnings),
			Validate:             check(validateReplicationController),
			ValidateStatusUpdate: checkUpdate(validateReplicationControllerStatus),
			OrphanByDefault:      true,
		},
		Subresources: []Subresource{
			scaleOf(
				func(obj runtime.Object) scalable {
					rc := obj.(*corev1.ReplicationController)
					return scalable{&rc.ObjectMeta, rc.Spec.Replicas, rc.Status.Replicas, &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}}
				},
				func(obj runtime.Object, replicas int32) {
					obj.(*corev1.ReplicationController).Spec.Replicas = &replicas
				},
			),
			statusOf(kind, newController),
		},
	}
}

func replicationControllerField(rc *corev1.ReplicationController, label string) string {
	if label == "status.replicas" {
		return strconv.Itoa(int(rc.Status.Replicas))
	}
	return ""
}

// defaultReplicationController sets fields that the client omitted from the template.
func defaultReplicationController(rc *corev1.ReplicationController) {
	pointDefault(&rc.Spec.Replicas, 1)
	if rc.Spec.Template == nil {
		return
	}
	if len(rc.Spec.Selector) == 0 {
		rc.Spec.Selector = copyOf(rc.Spec.Template.Labels)
	}
	if len(rc.Labels) == 0 {
		rc.Labels = copyOf(rc.Spec.Template.Labels)
	}
	defaultPodSpec(&rc.Spec.Template.Spec)
}

func validateReplicationController(rc *corev1.ReplicationController) field.ErrorList {
	spec, p := &rc.Spec, field.NewPath("spec")
	errs := nonNegative(p.Child("minReadySeconds"), spec.MinReadySeconds)
	if len(spec.Selector) == 0 {
		errs = append(errs, field.Required(p.Child("selector"), ""))
	}
	errs = append(errs, nonNegativePointer(p.Child("replicas"), spec.Replicas)...)
	at := p.Child("template")
	if spec.Template == nil {
		return append(errs, field.Required(at, ""))
	}
	if len(spec.Selector) > 0 && !labels.SelectorFromSet(spec.Selector).Matches(labels.Set(spec.Template.Labels)) {
		errs = append(errs, field.Invalid(at.Child("metadata", "labels"), spec.Template.Labels, "`selector` does not match template `labels`"))
	}
	errs = append(errs, validateTemplate(at, spec.Template)...)
	return append(errs, alwaysRunning(at.Child("spec"), &spec.Template.Spec, "ReplicationController")...)
}

func validateReplicationControllerStatus(rc, _ *corev1.ReplicationController) field.ErrorList {
	s, p := &rc.Status, field.NewPath("status")
	errs := validateCounts(count{"replicas", s.Replicas},
		count{"fullyLabeledReplicas", s.FullyLabeledReplicas}, count{"readyReplicas", s.ReadyReplicas}, count{"availableReplicas", s.AvailableReplicas})
	errs = append(errs, nonNegative(p.Child("observedGeneration"), s.ObservedGeneration)...)
	return append(errs, availableWithinReady(p, s.AvailableReplicas, s.ReadyReplicas)...)
}
