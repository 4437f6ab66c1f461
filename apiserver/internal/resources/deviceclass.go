package resources

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func deviceClassRow() *Resource {
	return &Resource{
		GroupVersionKind: resourcev1.SchemeGroupVersion.WithKind("DeviceClass"),
		Plural:           "deviceclasses",
		New:              func() runtime.Object { return &resourcev1.DeviceClass{} },
		NewList:          func() runtime.Object { return &resourcev1.DeviceClassList{} },
		Strategy: Strategy{
			ReturnDeleted: true,
			Generation:    true,
			Validate:      check(validation.DeviceClass),
		},
	}
}
