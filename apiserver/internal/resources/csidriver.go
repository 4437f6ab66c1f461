package resources

import (
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func csiDriverRow() *Resource {
	return &Resource{
		GroupVersionKind: storagev1.SchemeGroupVersion.WithKind("CSIDriver"),
		Plural:           "csidrivers",
		New:              func() runtime.Object { return &storagev1.CSIDriver{} },
		NewList:          func() runtime.Object { return &storagev1.CSIDriverList{} },
		Strategy: Strategy{
			ReturnDeleted:             true,
			Default:                   on(defaultCSIDriver),
			PrepareUpdate:             onUpdate(prepareCSIDriverUpdate),
			Warnings:                  warn(warnings.CSIDriver),
			Validate:                  check(validation.CSIDriver),
			ValidateUpdate:            checkUpdate(validation.CSIDriverUpdate),
			ForbidUnconditionalUpdate: true,
		},
	}
}

func defaultCSIDriver(d *storagev1.CSIDriver) {
	pointDefault(&d.Spec.AttachRequired, true)
	pointDefault(&d.Spec.PodInfoOnMount, false)
	pointDefault(&d.Spec.StorageCapacity, false)
	pointDefault(&d.Spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	if len(d.Spec.VolumeLifecycleModes) == 0 {
		d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
	pointDefault(&d.Spec.RequiresRepublish, false)
	pointDefault(&d.Spec.SELinuxMount, false)
	pointDefault(&d.Spec.PreventPodSchedulingIfMissing, false)
}

// prepareCSIDriverUpdate counts changes in the generation, which starts at 0 because a
// new driver has none.
func prepareCSIDriverUpdate(d, old *storagev1.CSIDriver) {
	if !apiequality.Semantic.DeepEqual(d.Spec, old.Spec) {
		d.Generation = old.Generation + 1
	}
}

// csiNodeRow is the row of CSINodes, which describe the drivers on one node.
func csiNodeRow() *Resource {
	kind := storagev1.SchemeGroupVersion.WithKind("CSINode")
	newNode := func() runtime.Object { return &storagev1.CSINode{} }
	status := statusOf(kind, newNode)
	status.Since = 37
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "csinodes",
		New:              newNode,
		NewList:          func() runtime.Object { return &storagev1.CSINodeList{} },
		Strategy: Strategy{
			ReturnDeleted:             true,
			Validate:                  check(validation.CSINode),
			ValidateUpdate:            checkUpdate(validation.CSINodeUpdate),
			ForbidUnconditionalUpdate: true,
		},
		Subresources: []Subresource{status},
	}
}
