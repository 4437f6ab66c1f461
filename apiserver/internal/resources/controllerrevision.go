package resources

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func controllerRevisionRow() *Resource {
	return &Resource{
		GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("ControllerRevision"),
		Plural:           "controllerrevisions",
		Namespaced:       true,
		New:              func() runtime.Object { return &appsv1.ControllerRevision{} },
		NewList:          func() runtime.Object { return &appsv1.ControllerRevisionList{} },
		Strategy: Strategy{
			Validate:       check(validation.ControllerRevision),
			ValidateCreate: check(validation.ControllerRevisionCreate),
			ValidateUpdate: checkUpdate(validation.ControllerRevisionUpdate),
		},
	}
}
