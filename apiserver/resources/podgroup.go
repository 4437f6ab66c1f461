package resources

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/resources/validation"
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
			PrepareCreate:             on(dropGatedOfPodGroup),
			PrepareUpdate:             onUpdate(func(g, _ *schedulingv1beta1.PodGroup) { dropGatedOfPodGroup(g) }),
			PrepareStatusUpdate:       onUpdate(func(g, _ *schedulingv1beta1.PodGroup) { g.Status.ResourceClaimStatuses = nil }),
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

// dropGatedOfPodGroup drops the fields of the feature gates CompositePodGroup,
// TopologyAwareWorkloadScheduling, DRAWorkloadResourceClaims and PodGroupPreemptionPolicy, as
// upstream does while they are off.
func dropGatedOfPodGroup(g *schedulingv1beta1.PodGroup) {
	s := &g.Spec
	s.ParentCompositePodGroupName, s.SchedulingConstraints, s.ResourceClaims, s.PreemptionPolicy = nil, nil, nil, nil
}
