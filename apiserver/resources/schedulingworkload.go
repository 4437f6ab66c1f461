package resources

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/resources/validation"
)

func schedulingWorkloadRow() *Resource {
	return &Resource{
		GroupVersionKind: schedulingv1beta1.SchemeGroupVersion.WithKind("Workload"),
		Plural:           "workloads",
		Namespaced:       true,
		New:              func() runtime.Object { return &schedulingv1beta1.Workload{} },
		NewList:          func() runtime.Object { return &schedulingv1beta1.WorkloadList{} },
		Strategy: Strategy{
			PrepareCreate:             on(dropGatedOfWorkload),
			PrepareUpdate:             onUpdate(func(w, _ *schedulingv1beta1.Workload) { dropGatedOfWorkload(w) }),
			ValidateCreate:            check(validation.SchedulingWorkload),
			ValidateUpdate:            checkUpdate(validation.SchedulingWorkloadUpdate),
			ForbidUnconditionalUpdate: true,
		},
	}
}

// dropGatedOfWorkload does for the templates of a workload what dropGatedOfPodGroup does.
func dropGatedOfWorkload(w *schedulingv1beta1.Workload) {
	w.Spec.CompositePodGroupTemplates = nil
	for i := range w.Spec.PodGroupTemplates {
		t := &w.Spec.PodGroupTemplates[i]
		t.SchedulingConstraints, t.ResourceClaims, t.PreemptionPolicy = nil, nil, nil
	}
}
