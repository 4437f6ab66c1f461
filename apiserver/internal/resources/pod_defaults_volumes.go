package resources

import corev1 "k8s.io/api/core/v1"

// defaultFileMode is the mode of the files in a volume of API data.
const defaultFileMode int32 = 0o644

// defaultTokenSeconds is the lifetime of a projected service account token.
const defaultTokenSeconds int64 = 60 * 60

// defaultVolume sets the defaults of a volume; one without a source is an emptyDir.
func defaultVolume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
		return
	}
	switch {
	case v.ConfigMap != nil:
		pointDefault(&v.ConfigMap.DefaultMode, defaultFileMode)
	case v.Secret != nil:
		pointDefault(&v.Secret.DefaultMode, defaultFileMode)
	case v.Projected != nil:
		defaultProjected(v.Projected)
	case v.DownwardAPI != nil:
		pointDefault(&v.DownwardAPI.DefaultMode, defaultFileMode)
		defaultDownwardFiles(v.DownwardAPI.Items)
	case v.HostPath != nil:
		pointDefault(&v.HostPath.Type, corev1.HostPathUnset)
	case v.Ephemeral != nil:
		if v.Ephemeral.VolumeClaimTemplate != nil {
			pointDefault(&v.Ephemeral.VolumeClaimTemplate.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
		}
	case v.Image != nil:
		setDefault(&v.Image.PullPolicy, pullPolicy(v.Image.Reference))
	default:
		defaultStorageVolume(v)
	}
}

// defaultStorageVolume sets the defaults of sources in external storage systems.
func defaultStorageVolume(v *corev1.Volume) {
	switch {
	case v.ISCSI != nil:
		setDefault(&v.ISCSI.ISCSIInterface, "default")
	case v.RBD != nil:
		setDefault(&v.RBD.RBDPool, "rbd")
		setDefault(&v.RBD.RadosUser, "admin")
		setDefault(&v.RBD.Keyring, "/etc/ceph/keyring")
	case v.AzureDisk != nil:
		pointDefault(&v.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		pointDefault(&v.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
		pointDefault(&v.AzureDisk.FSType, "ext4")
		pointDefault(&v.AzureDisk.ReadOnly, false)
	case v.ScaleIO != nil:
		setDefault(&v.ScaleIO.StorageMode, "ThinProvisioned")
		setDefault(&v.ScaleIO.FSType, "xfs")
	}
}

func defaultProjected(p *corev1.ProjectedVolumeSource) {
	pointDefault(&p.DefaultMode, defaultFileMode)
	for i := range p.Sources {
		if token := p.Sources[i].ServiceAccountToken; token != nil {
			pointDefault(&token.ExpirationSeconds, defaultTokenSeconds)
		}
		if downward := p.Sources[i].DownwardAPI; downward != nil {
			defaultDownwardFiles(downward.Items)
		}
	}
}

func defaultDownwardFiles(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		if items[i].FieldRef != nil {
			setDefault(&items[i].FieldRef.APIVersion, "v1")
		}
	}
}
