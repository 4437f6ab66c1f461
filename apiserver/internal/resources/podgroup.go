package resources

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func podGroupRow() *Resource {
	kind := schedulingv1beta1.SchemeGroupVersion.WithKind("PodGroup")
	newGroup := func() runtime.Object { return &schedulingv1beta1.PodGroup{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "podgroups",
		Namespaced:       true,
		New:              newGroup,
		NewList:          func() runtime.Object { return &schedulingv1beta1.PodGroupList{} },
		Strategy: Strategy{
			StatusKeeps:               allMetadata,
			Default:                   on(defaultPodGroup),
			ValidateCreate:            check(validation.PodGroup),
			ValidateUpdate:            checkUpdate(validation.PodGroupUpdate),
			ValidateStatusUpdate:      checkUpdate(validation.PodGroupStatus),
			ForbidUnconditionalUpdate: true,
		},
		Subresources: []Subresource{statusOf(kind, newGroup)},
	}
}

func defaultPodGroup(g *schedulingv1beta1.PodGroup) {
	pointDefault(&g.Spec.DisruptionMode, schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}})
}
