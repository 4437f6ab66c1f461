package resources

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func replicaSetRow() *Resource {
	kind := appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	newReplicaSet := func() runtime.Object { return &appsv1.ReplicaSet{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "replicasets",
		ShortNames:       []string{"rs"},
		Categories:       []string{"all"},
		Namespaced:       true,
		New:              newReplicaSet,
		NewList:          func() runtime.Object { return &appsv1.ReplicaSetList{} },
		Strategy: Strategy{
			Default:              on(defaultReplicaSet),
			Generation:           true,
			Warnings:             ofWorkload(warnings.ReplicaSet),
			Validate:             check(validation.ReplicaSet),
			ValidateUpdate:       checkUpdate(validation.ReplicaSetUpdate),
			ValidateStatusUpdate: checkUpdate(validation.ReplicaSetStatus),
		},
		Subresources: []Subresource{
			scaleOf(
				func(obj runtime.Object) scalable {
					rs := obj.(*appsv1.ReplicaSet)
					return scalable{&rs.ObjectMeta, rs.Spec.Replicas, rs.Status.Replicas, rs.Spec.Selector}
				},
				func(obj runtime.Object, replicas int32) { obj.(*appsv1.ReplicaSet).Spec.Replicas = &replicas },
			),
			statusOf(kind, newReplicaSet),
		},
	}
}

func defaultReplicaSet(rs *appsv1.ReplicaSet) {
	pointDefault(&rs.Spec.Replicas, 1)
	defaultPodSpec(&rs.Spec.Template.Spec)
}
