package resources

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
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
			Warnings:             ofWorkload(warnings.ReplicationController),
			Validate:             check(validation.ReplicationController),
			ValidateStatusUpdate: checkUpdate(validation.ReplicationControllerStatus),
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
