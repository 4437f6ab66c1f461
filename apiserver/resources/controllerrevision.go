package resources

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func controllerRevisionRow() *Resource {
	return &Resource{
		GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("ControllerRevision"),
		Plural:           "controllerrevisions",
		Namespaced:       true,
		New:              func() runtime.Object { return &appsv1.ControllerRevision{} },
		NewList:          func() runtime.Object { return &appsv1.ControllerRevisionList{} },
		Strategy: Strategy{
			Validate: check(func(r *appsv1.ControllerRevision) field.ErrorList {
				return nonNegative(field.NewPath("revision"), r.Revision)
			}),
			ValidateCreate: check(validateNewControllerRevision),
			ValidateUpdate: checkUpdate(validateControllerRevisionUpdate),
		},
	}
}
