package resources

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func schedulingWorkloadRow() *Resource {
	return &Resource{
		GroupVersionKind: schedulingv1beta1.SchemeGroupVersion.WithKind("Workload"),
		Plural:           "workloads",
		Namespaced:       true,
		New:              func() runtime.Object { return &schedulingv1beta1.Workload{} },
		NewList:          func() runtime.Object { return &schedulingv1beta1.WorkloadList{} },
		Strategy: Strategy{
			ValidateCreate:            check(validation.SchedulingWorkload),
			ValidateUpdate:            checkUpdate(validation.SchedulingWorkloadUpdate),
			ForbidUnconditionalUpdate: true,
		},
	}
}
