package resources

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func podDisruptionBudgetRow() *Resource {
	kind := policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")
	newBudget := func() runtime.Object { return &policyv1.PodDisruptionBudget{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "poddisruptionbudgets",
		ShortNames:       []string{"pdb"},
		Namespaced:       true,
		New:              newBudget,
		NewList:          func() runtime.Object { return &policyv1.PodDisruptionBudgetList{} },
		Strategy: Strategy{
			AnyFinalizer:              true,
			Generation:                true,
			NameCheck:                 path.ValidatePathSegmentName,
			Validate:                  check(validation.PodDisruptionBudget),
			ValidateStatusUpdate:      checkUpdate(validation.PodDisruptionBudgetStatus),
			ForbidUnconditionalUpdate: true,
		},
		Subresources: []Subresource{statusOf(kind, newBudget)},
	}
}
