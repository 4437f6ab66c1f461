package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func persistentVolumeClaimRow() *Resource {
	kind := corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")
	newClaim := func() runtime.Object { return &corev1.PersistentVolumeClaim{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "persistentvolumeclaims",
		ShortNames:       []string{"pvc"},
		Namespaced:       true,
		New:              newClaim,
		NewList:          func() runtime.Object { return &corev1.PersistentVolumeClaimList{} },
		Strategy: Strategy{
			ReturnDeleted:        true,
			Default:              on(defaultClaim),
			PrepareCreate:        on(prepareClaim),
			PrepareUpdate:        onUpdate(func(claim, _ *corev1.PersistentVolumeClaim) { normalizeDataSources(&claim.Spec) }),
			Warnings:             always(warnings.PersistentVolumeClaim),
			Validate:             check(validation.PersistentVolumeClaim),
			ValidateUpdate:       checkUpdate(validation.PersistentVolumeClaimUpdate),
			ValidateStatusUpdate: checkUpdate(validation.PersistentVolumeClaimStatus),
		},
		Subresources: []Subresource{statusOf(kind, newClaim)},
	}
}

func defaultClaim(claim *corev1.PersistentVolumeClaim) {
	setDefault(&claim.Status.Phase, corev1.ClaimPending)
	pointDefault(&claim.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	roundUp(claim.Spec.Resources.Limits)
	roundUp(claim.Spec.Resources.Requests)
	roundUp(claim.Status.Capacity)
}

func prepareClaim(claim *corev1.PersistentVolumeClaim) {
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
	// A reference that the older field does not support is dropped silently (KEP-1495).
	if s := claim.Spec.DataSource; s != nil && claim.Spec.DataSourceRef == nil && !knownDataSource(&corev1.TypedObjectReference{APIGroup: s.APIGroup, Kind: s.Kind}) {
		claim.Spec.DataSource = nil
	}
	normalizeDataSources(&claim.Spec)
}

// normalizeDataSources keeps the two fields of a data source equal, as long as it is in
// the claim's namespace (KEP-1495).
func normalizeDataSources(spec *corev1.PersistentVolumeClaimSpec) {
	switch {
	case spec.DataSource != nil && spec.DataSourceRef == nil:
		spec.DataSourceRef = &corev1.TypedObjectReference{
			APIGroup: spec.DataSource.APIGroup, Kind: spec.DataSource.Kind, Name: spec.DataSource.Name,
		}
	case spec.DataSourceRef != nil && spec.DataSource == nil && ptr.Deref(spec.DataSourceRef.Namespace, "") == "" && knownDataSource(spec.DataSourceRef):
		spec.DataSource = &corev1.TypedLocalObjectReference{
			APIGroup: spec.DataSourceRef.APIGroup, Kind: spec.DataSourceRef.Kind, Name: spec.DataSourceRef.Name,
		}
	}
}

// knownDataSource reports whether the older of the two fields supports the reference.
func knownDataSource(ref *corev1.TypedObjectReference) bool {
	switch ptr.Deref(ref.APIGroup, "") {
	case "":
		return ref.Kind == "PersistentVolumeClaim"
	case "snapshot.storage.k8s.io":
		return ref.Kind == "VolumeSnapshot"
	}
	return false
}
