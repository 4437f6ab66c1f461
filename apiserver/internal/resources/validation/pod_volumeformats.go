package validation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateFlocker(p *field.Path, f *corev1.FlockerVolumeSource) field.ErrorList {
	var errs field.ErrorList
	switch {
	case f.DatasetName == "" && f.DatasetUUID == "":
		errs = append(errs, field.Required(p, "one of datasetName and datasetUUID is required"))
	case f.DatasetName != "" && f.DatasetUUID != "":
		errs = append(errs, field.Invalid(p, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
	}
	if strings.Contains(f.DatasetName, "/") {
		errs = append(errs, field.Invalid(p.Child("datasetName"), f.DatasetName, "must not contain '/'"))
	}
	return errs
}

// validateAzureDisk checks that a disk's URI fits its kind.
func validateAzureDisk(p *field.Path, d *corev1.AzureDiskVolumeSource) field.ErrorList {
	errs := needs(p, "diskName", d.DiskName, "diskURI", d.DataDiskURI)
	if d.CachingMode != nil {
		errs = append(errs, oneOf(p.Child("cachingMode"), *d.CachingMode,
			corev1.AzureDataDiskCachingNone, corev1.AzureDataDiskCachingReadOnly, corev1.AzureDataDiskCachingReadWrite)...)
	}
	if d.Kind == nil {
		return errs
	}
	errs = append(errs, oneOf(p.Child("kind"), *d.Kind, corev1.AzureDedicatedBlobDisk, corev1.AzureManagedDisk, corev1.AzureSharedBlobDisk)...)
	prefix, form := "https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
	if *d.Kind == corev1.AzureManagedDisk {
		prefix, form = "/subscriptions/", "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
	}
	if !strings.HasPrefix(d.DataDiskURI, prefix) {
		errs = append(errs, field.NotSupported(p.Child("diskURI"), d.DataDiskURI, []string{form}))
	}
	return errs
}

// validateStorageOS validates the names; the secret differs between Pods and
// PersistentVolumes.
func validateStorageOS(p *field.Path, volume, namespace string) field.ErrorList {
	errs := requiredOr(p.Child("volumeName"), volume, isDNSLabel)
	return append(errs, optional(p.Child("volumeNamespace"), namespace, isDNSLabel)...)
}

// validateCSISecrets validates the references to secrets.
func validateCSISecrets(p *field.Path, csi *corev1.CSIPersistentVolumeSource) field.ErrorList {
	var errs field.ErrorList
	for _, r := range []struct {
		name string
		ref  *corev1.SecretReference
	}{
		{"controllerPublishSecretRef", csi.ControllerPublishSecretRef},
		{"controllerExpandSecretRef", csi.ControllerExpandSecretRef},
		{"nodePublishSecretRef", csi.NodePublishSecretRef},
		{"nodeExpandSecretRef", csi.NodeExpandSecretRef},
	} {
		if r.ref != nil {
			errs = append(errs, requiredOr(p.Child(r.name, "name"), r.ref.Name, isDNSSubdomain)...)
			errs = append(errs, requiredOr(p.Child(r.name, "namespace"), r.ref.Namespace, isDNSLabel)...)
		}
	}
	return errs
}
