package resources

import (
	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func statefulSetRow() *Resource {
	kind := appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	newStatefulSet := func() runtime.Object { return &appsv1.StatefulSet{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "statefulsets",
		ShortNames:       []string{"sts"},
		Categories:       []string{"all"},
		Namespaced:       true,
		New:              newStatefulSet,
		NewList:          func() runtime.Object { return &appsv1.StatefulSetList{} },
		Strategy: Strategy{
			Default:              on(defaultStatefulSet),
			NameCheck:            apivalidation.NameIsDNSLabel,
			Generation:           true,
			Warnings:             warn(warnings.StatefulSet),
			Validate:             check(validation.StatefulSet),
			ValidateCreate:       check(validation.StatefulSetCreate),
			ValidateUpdate:       checkUpdate(validation.StatefulSetUpdate),
			ValidateStatusUpdate: checkUpdate(validation.StatefulSetStatus),
		},
		Subresources: []Subresource{
			scaleOf(
				func(obj runtime.Object) scalable {
					s := obj.(*appsv1.StatefulSet)
					return scalable{&s.ObjectMeta, s.Spec.Replicas, s.Status.Replicas, s.Spec.Selector}
				},
				func(obj runtime.Object, replicas int32) { obj.(*appsv1.StatefulSet).Spec.Replicas = &replicas },
			),
			statusOf(kind, newStatefulSet),
		},
	}
}

func defaultStatefulSet(s *appsv1.StatefulSet) {
	spec := &s.Spec
	pointDefault(&spec.Replicas, 1)
	pointDefault(&spec.RevisionHistoryLimit, 10)
	setDefault(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	if spec.UpdateStrategy.Type == "" {
		spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		if spec.UpdateStrategy.RollingUpdate == nil {
			spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{}
		}
	}
	if r := spec.UpdateStrategy.RollingUpdate; r != nil && spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
		pointDefault(&r.Partition, 0)
		pointDefault(&r.MaxUnavailable, intstr.FromInt32(1))
	}
	if spec.PersistentVolumeClaimRetentionPolicy == nil {
		spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{}
	}
	setDefault(&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	setDefault(&spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	for i := range spec.VolumeClaimTemplates {
		claim := &spec.VolumeClaimTemplates[i]
		claim.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
		defaultClaim(claim)
	}
	defaultPodSpec(&spec.Template.Spec)
}
