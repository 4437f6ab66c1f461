package validation

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func StatefulSet(s *appsv1.StatefulSet) field.ErrorList {
	spec, p := &s.Spec, field.NewPath("spec")
	errs := validatePodManagement(p.Child("podManagementPolicy"), spec.PodManagementPolicy)
	errs = append(errs, validateStatefulUpdateStrategy(p.Child("updateStrategy"), &spec.UpdateStrategy)...)
	errs = append(errs, validateClaimRetention(p.Child("persistentVolumeClaimRetentionPolicy"), spec.PersistentVolumeClaimRetentionPolicy)...)
	errs = append(errs, nonNegativePointer(p.Child("replicas"), spec.Replicas)...)
	if spec.Ordinals != nil {
		errs = append(errs, nonNegative(p.Child("ordinals", "start"), spec.Ordinals.Start)...)
	}
	errs = append(errs, nonNegative(p.Child("minReadySeconds"), spec.MinReadySeconds)...)
	errs = append(errs, validateWorkloadSelector(p, spec.Selector, "statefulset")...)
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil {
		return append(errs, field.Invalid(p.Child("selector"), spec.Selector, ""))
	}
	return append(errs, validateStatefulTemplate(p.Child("template"), selector, spec)...)
}

// StatefulSetCreate validates the fields that an update cannot change.
func StatefulSetCreate(s *appsv1.StatefulSet) field.ErrorList {
	p := field.NewPath("spec")
	errs := optional(p.Child("serviceName"), s.Spec.ServiceName, isDNSLabel)
	for i := range s.Spec.VolumeClaimTemplates {
		errs = append(errs, validateClaimSpec(p.Child("volumeClaimTemplates").Index(i).Child("spec"), &s.Spec.VolumeClaimTemplates[i].Spec)...)
	}
	return errs
}

// validateWorkloadSelector requires a selector that is not empty; what names the kind
// in the error.
func validateWorkloadSelector(p *field.Path, selector *metav1.LabelSelector, what string) field.ErrorList {
	if selector == nil {
		return field.ErrorList{field.Required(p.Child("selector"), "")}
	}
	errs := validateSelector(p.Child("selector"), selector)
	if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		errs = append(errs, field.Invalid(p.Child("selector"), selector, "empty selector is invalid for "+what))
	}
	return errs
}

// validateStatefulTemplate validates the pods as they will be created: every claim
// template is a volume, replacing one of the same name.
func validateStatefulTemplate(p *field.Path, selector labels.Selector, spec *appsv1.StatefulSetSpec) field.ErrorList {
	template := spec.Template
	var errs field.ErrorList
	if !selector.Empty() && !selector.Matches(labels.Set(template.Labels)) {
		errs = append(errs, field.Invalid(p.Child("metadata", "labels"), template.Labels, "`selector` does not match template `labels`"))
	}
	template.Spec.Volumes = withClaimVolumes(template.Spec.Volumes, spec.VolumeClaimTemplates)
	errs = append(errs, validateTemplate(p, &template)...)
	return append(errs, alwaysRunning(p.Child("spec"), &template.Spec, "StatefulSet")...)
}

func withClaimVolumes(volumes []corev1.Volume, claims []corev1.PersistentVolumeClaim) []corev1.Volume {
	if len(claims) == 0 {
		return volumes
	}
	taken := sets.New[string]()
	all := make([]corev1.Volume, 0, len(volumes)+len(claims))
	for i := range claims {
		if name := claims[i].Name; !taken.Has(name) {
			taken.Insert(name)
			claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}
			all = append(all, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}})
		}
	}
	for i := range volumes {
		if !taken.Has(volumes[i].Name) {
			all = append(all, volumes[i])
		}
	}
	return all
}

// alwaysRunning requires pods that do not terminate by themselves; kind is for the
// error.
func alwaysRunning(p *field.Path, spec *corev1.PodSpec, kind string) field.ErrorList {
	var errs field.ErrorList
	if spec.RestartPolicy != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(p.Child("restartPolicy"), spec.RestartPolicy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(p.Child("activeDeadlineSeconds"), "activeDeadlineSeconds in "+kind+" is not Supported"))
	}
	return errs
}

func validatePodManagement(p *field.Path, policy appsv1.PodManagementPolicyType) field.ErrorList {
	switch policy {
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
		return nil
	case "":
		return field.ErrorList{field.Required(p, "")}
	}
	return field.ErrorList{field.Invalid(p, policy, fmt.Sprintf("must be '%s' or '%s'", appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement))}
}

func validateStatefulUpdateStrategy(p *field.Path, s *appsv1.StatefulSetUpdateStrategy) field.ErrorList {
	at := p.Child("rollingUpdate")
	switch s.Type {
	case "":
		return field.ErrorList{field.Required(p, "")}
	case appsv1.OnDeleteStatefulSetStrategyType:
		if s.RollingUpdate != nil {
			return field.ErrorList{field.Invalid(at, s.RollingUpdate, fmt.Sprintf("only allowed for updateStrategy '%s'", appsv1.RollingUpdateStatefulSetStrategyType))}
		}
		return nil
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if s.RollingUpdate == nil {
			return nil
		}
		errs := nonNegativePointer(at.Child("partition"), s.RollingUpdate.Partition)
		if most := s.RollingUpdate.MaxUnavailable; most != nil {
			errs = append(errs, validateCountOrPercent(at.Child("maxUnavailable"), *most)...)
			if isZero(*most) {
				errs = append(errs, field.Invalid(at.Child("maxUnavailable"), *most, "cannot be 0"))
			}
			errs = append(errs, atMostWhole(at.Child("maxUnavailable"), *most)...)
		}
		return errs
	}
	return field.ErrorList{field.Invalid(p, s, fmt.Sprintf("must be '%s' or '%s'",
		appsv1.RollingUpdateStatefulSetStrategyType, appsv1.OnDeleteStatefulSetStrategyType))}
}

func validateClaimRetention(p *field.Path, policy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy) field.ErrorList {
	if policy == nil {
		return nil
	}
	const retain, remove = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	errs := oneOf(p.Child("whenDeleted"), policy.WhenDeleted, retain, remove)
	return append(errs, oneOf(p.Child("whenScaled"), policy.WhenScaled, retain, remove)...)
}

// StatefulSetUpdate forbids to change the fields that identify the set's pods, claims and DNS names.
func StatefulSetUpdate(s, old *appsv1.StatefulSet) field.ErrorList {
	spec, was, p := &s.Spec, &old.Spec, field.NewPath("spec")
	errs := immutable(p.Child("selector"), spec.Selector, was.Selector)
	errs = append(errs, immutable(p.Child("volumeClaimTemplates"), spec.VolumeClaimTemplates, was.VolumeClaimTemplates)...)
	errs = append(errs, immutable(p.Child("serviceName"), spec.ServiceName, was.ServiceName)...)
	return append(errs, immutable(p.Child("podManagementPolicy"), spec.PodManagementPolicy, was.PodManagementPolicy)...)
}

func StatefulSetStatus(set, old *appsv1.StatefulSet) field.ErrorList {
	s, p := &set.Status, field.NewPath("status")
	errs := validateCounts(count{"replicas", s.Replicas}, count{"readyReplicas", s.ReadyReplicas},
		count{"currentReplicas", s.CurrentReplicas}, count{"updatedReplicas", s.UpdatedReplicas}, count{"availableReplicas", s.AvailableReplicas})
	errs = append(errs, nonNegative(p.Child("observedGeneration"), s.ObservedGeneration)...)
	errs = append(errs, availableWithinReady(p, s.AvailableReplicas, s.ReadyReplicas)...)
	return append(errs, validateCollisions(p.Child("collisionCount"), s.CollisionCount, old.Status.CollisionCount)...)
}

// validateCollisions requires that the collision count does not decrease.
func validateCollisions(p *field.Path, collisions, was *int32) field.ErrorList {
	errs := nonNegativePointer(p, collisions)
	if was != nil && deref(collisions) < *was {
		errs = append(errs, field.Invalid(p, deref(collisions), "cannot be decremented"))
	}
	return errs
}
