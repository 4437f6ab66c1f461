package resources

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func persistentVolumeRow() *Resource {
	kind := corev1.SchemeGroupVersion.WithKind("PersistentVolume")
	newVolume := func() runtime.Object { return &corev1.PersistentVolume{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "persistentvolumes",
		ShortNames:       []string{"pv"},
		New:              newVolume,
		NewList:          func() runtime.Object { return &corev1.PersistentVolumeList{} },
		Strategy: Strategy{
			ReturnDeleted: true,
			Default:       on(defaultPersistentVolume),
			PrepareCreate: on(preparePersistentVolume),
			PrepareStatusUpdateAt: func(obj, old runtime.Object, now metav1.Time) {
				preparePersistentVolumeStatus(obj.(*corev1.PersistentVolume), old.(*corev1.PersistentVolume), now)
			},
			Warnings:       always(warnings.PersistentVolume),
			Validate:       check(validation.PersistentVolume),
			ValidateUpdate: checkUpdate(validation.PersistentVolumeUpdate),
		},
		Subresources: []Subresource{statusOf(kind, newVolume)},
	}
}

func defaultPersistentVolume(v *corev1.PersistentVolume) {
	setDefault(&v.Status.Phase, corev1.VolumePending)
	spec := &v.Spec
	setDefault(&spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	pointDefault(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	roundUp(spec.Capacity)
	switch {
	case spec.HostPath != nil:
		pointDefault(&spec.HostPath.Type, corev1.HostPathUnset)
	case spec.ISCSI != nil:
		setDefault(&spec.ISCSI.ISCSIInterface, "default")
	case spec.RBD != nil:
		setDefault(&spec.RBD.RBDPool, "rbd")
		setDefault(&spec.RBD.RadosUser, "admin")
		setDefault(&spec.RBD.Keyring, "/etc/ceph/keyring")
	case spec.AzureDisk != nil:
		pointDefault(&spec.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		pointDefault(&spec.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
		pointDefault(&spec.AzureDisk.FSType, "ext4")
		pointDefault(&spec.AzureDisk.ReadOnly, false)
	case spec.ScaleIO != nil:
		setDefault(&spec.ScaleIO.StorageMode, "ThinProvisioned")
		setDefault(&spec.ScaleIO.FSType, "xfs")
	}
}

// preparePersistentVolume sets the phase transition time of a new volume to its
// creation.
func preparePersistentVolume(v *corev1.PersistentVolume) {
	created := v.CreationTimestamp
	v.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &created}
}

// preparePersistentVolumeStatus sets the time of a change of the phase unless the client did,
// and keeps it otherwise.
func preparePersistentVolumeStatus(v, old *corev1.PersistentVolume, now metav1.Time) {
	status, was := &v.Status, &old.Status
	switch {
	case status.Phase == was.Phase:
		if status.LastPhaseTransitionTime == nil {
			status.LastPhaseTransitionTime = was.LastPhaseTransitionTime
		}
	case status.LastPhaseTransitionTime == nil || status.LastPhaseTransitionTime.Equal(was.LastPhaseTransitionTime):
		status.LastPhaseTransitionTime = &now
	}
}
