package resources

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func deviceTaintRuleRow() *Resource {
	kind := resourcev1.SchemeGroupVersion.WithKind("DeviceTaintRule")
	newRule := func() runtime.Object { return &resourcev1.DeviceTaintRule{} }
	return &Resource{
		GroupVersionKind: kind,
		StoredVersion:    "v1beta2",
		Plural:           "devicetaintrules",
		New:              newRule,
		NewList:          func() runtime.Object { return &resourcev1.DeviceTaintRuleList{} },
		Strategy: Strategy{
			StatusKeeps:               allMetadata,
			PrepareCreate:             on(prepareDeviceTaintRule),
			PrepareUpdate:             onUpdate(keepTaintTime),
			Generation:                true,
			ForbidUnconditionalUpdate: true,
			Validate:                  check(validation.DeviceTaintRule),
			ValidateStatusUpdate:      checkUpdate(validation.DeviceTaintRuleStatus),
		},
		Subresources: []Subresource{statusWithoutTable(kind, newRule)},
	}
}

// prepareDeviceTaintRule sets the time when the taint was added.
func prepareDeviceTaintRule(r *resourcev1.DeviceTaintRule) {
	if r.Spec.Taint.TimeAdded == nil {
		created := r.CreationTimestamp
		r.Spec.Taint.TimeAdded = &created
	}
}

func keepTaintTime(r, old *resourcev1.DeviceTaintRule) {
	if r.Spec.Taint.TimeAdded == nil {
		r.Spec.Taint.TimeAdded = old.Spec.Taint.TimeAdded
	}
}
