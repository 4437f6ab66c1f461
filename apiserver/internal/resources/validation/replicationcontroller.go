package validation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func ReplicationController(rc *corev1.ReplicationController) field.ErrorList {
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

func ReplicationControllerStatus(rc, _ *corev1.ReplicationController) field.ErrorList {
	s, p := &rc.Status, field.NewPath("status")
	errs := validateCounts(count{"replicas", s.Replicas},
		count{"fullyLabeledReplicas", s.FullyLabeledReplicas}, count{"readyReplicas", s.ReadyReplicas}, count{"availableReplicas", s.AvailableReplicas})
	errs = append(errs, nonNegative(p.Child("observedGeneration"), s.ObservedGeneration)...)
	return append(errs, availableWithinReady(p, s.AvailableReplicas, s.ReadyReplicas)...)
}
