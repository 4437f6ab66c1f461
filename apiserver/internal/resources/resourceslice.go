package resources

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func resourceSliceRow() *Resource {
	kind := resourcev1.SchemeGroupVersion.WithKind("ResourceSlice")
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "resourceslices",
		New:              func() runtime.Object { return &resourcev1.ResourceSlice{} },
		NewList:          func() runtime.Object { return &resourcev1.ResourceSliceList{} },
		SelectableFields: []string{resourcev1.ResourceSliceSelectorNodeName, resourcev1.ResourceSliceSelectorDriver, resourcev1.ResourceSliceSelectorPoolName},
		UnknownField: func(label string) string {
			return fmt.Sprintf("field label not supported for %s: %s", kind, label)
		},
		Field: fieldOf(resourceSliceField),
		Strategy: Strategy{
			ReturnDeleted:  true,
			Generation:     true,
			Warnings:       always(warnings.ResourceSlice),
			Validate:       check(validation.ResourceSlice),
			ValidateCreate: check(validation.ResourceSliceCreate),
			ValidateUpdate: checkUpdate(validation.ResourceSliceUpdate),
		},
	}
}

func resourceSliceField(s *resourcev1.ResourceSlice, label string) string {
	switch label {
	case resourcev1.ResourceSliceSelectorNodeName:
		return ptr.Deref(s.Spec.NodeName, "")
	case resourcev1.ResourceSliceSelectorDriver:
		return s.Spec.Driver
	case resourcev1.ResourceSliceSelectorPoolName:
		return s.Spec.Pool.Name
	}
	return ""
}
