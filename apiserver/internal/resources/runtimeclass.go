package resources

import (
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func runtimeClassRow() *Resource {
	return &Resource{
		GroupVersionKind: nodev1.SchemeGroupVersion.WithKind("RuntimeClass"),
		Plural:           "runtimeclasses",
		New:              func() runtime.Object { return &nodev1.RuntimeClass{} },
		NewList:          func() runtime.Object { return &nodev1.RuntimeClassList{} },
		Strategy: Strategy{
			AnyFinalizer:              true,
			Default:                   on(defaultRuntimeClass),
			Warnings:                  always(warnings.RuntimeClass),
			Validate:                  check(validation.RuntimeClass),
			ValidateUpdate:            checkUpdate(validation.RuntimeClassUpdate),
			AllowCreateOnUpdate:       true,
			ForbidUnconditionalUpdate: true,
		},
	}
}

func defaultRuntimeClass(c *nodev1.RuntimeClass) {
	if c.Overhead != nil {
		roundUp(c.Overhead.PodFixed)
	}
}
