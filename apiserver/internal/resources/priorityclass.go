package resources

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func priorityClassRow() *Resource {
	return &Resource{
		GroupVersionKind: schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"),
		Plural:           "priorityclasses",
		ShortNames:       []string{"pc"},
		New:              func() runtime.Object { return &schedulingv1.PriorityClass{} },
		NewList:          func() runtime.Object { return &schedulingv1.PriorityClassList{} },
		Strategy: Strategy{
			Default:        on(defaultPriorityClass),
			Generation:     true,
			Validate:       check(validation.PriorityClass),
			ValidateUpdate: checkUpdate(validation.PriorityClassUpdate),
		},
	}
}

func defaultPriorityClass(pc *schedulingv1.PriorityClass) {
	pointDefault(&pc.PreemptionPolicy, corev1.PreemptLowerPriority)
}
