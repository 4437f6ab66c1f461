package validation

import (
	"net"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// needs reports the fields that are empty; fields holds names and values in turn.
func needs(p *field.Path, fields ...string) field.ErrorList {
	var errs field.ErrorList
	for i := 0; i < len(fields); i += 2 {
		errs = append(errs, requiredNonEmpty(p.Child(fields[i]), fields[i+1])...)
	}
	return errs
}

// validateDriverSource validates the sources that only a Pod's volume has and that a
// storage driver reads.
func validateDriverSource(p *field.Path, s *corev1.VolumeSource) field.ErrorList {
	switch {
	case s.GitRepo != nil:
		at := p.Child("gitRepo")
		return append(needs(at, "repository", s.GitRepo.Repository), validateLocalPath(at.Child("directory"), s.GitRepo.Directory)...)
	case s.Glusterfs != nil:
		return needs(p.Child("glusterfs"), "endpoints", s.Glusterfs.EndpointsName, "path", s.Glusterfs.Path)
	case s.RBD != nil:
		return append(needsMonitors(p.Child("rbd"), s.RBD.CephMonitors), needs(p.Child("rbd"), "image", s.RBD.RBDImage)...)
	case s.CephFS != nil:
		return needsMonitors(p.Child("cephfs"), s.CephFS.Monitors)
	case s.FlexVolume != nil:
		return validateFlex(p.Child("flexVolume"), s.FlexVolume.Driver, s.FlexVolume.Options)
	case s.AzureFile != nil:
		return needs(p.Child("azureFile"), "secretName", s.AzureFile.SecretName, "shareName", s.AzureFile.ShareName)
	case s.ScaleIO != nil:
		return needs(p.Child("scaleIO"), "gateway", s.ScaleIO.Gateway, "system", s.ScaleIO.System, "volumeName", s.ScaleIO.VolumeName)
	case s.Cinder != nil:
		errs := needs(p.Child("cinder"), "volumeID", s.Cinder.VolumeID)
		if s.Cinder.SecretRef != nil {
			errs = append(errs, needs(p.Child("cinder", "secretRef"), "name", s.Cinder.SecretRef.Name)...)
		}
		return errs
	case s.StorageOS != nil:
		errs := validateStorageOS(p.Child("storageos"), s.StorageOS.VolumeName, s.StorageOS.VolumeNamespace)
		if ref := s.StorageOS.SecretRef; ref != nil {
			errs = append(errs, needs(p.Child("storageos", "secretRef"), "name", ref.Name)...)
		}
		return errs
	}
	return validateSharedSource(p, &corev1.PersistentVolumeSource{
		GCEPersistentDisk: s.GCEPersistentDisk, AWSElasticBlockStore: s.AWSElasticBlockStore, Flocker: s.Flocker, Quobyte: s.Quobyte, FC: s.FC,
		AzureDisk: s.AzureDisk, VsphereVolume: s.VsphereVolume, PhotonPersistentDisk: s.PhotonPersistentDisk, PortworxVolume: s.PortworxVolume,
	})
}

// validatePersistentDriverSource is validateDriverSource for PersistentVolumes.
func validatePersistentDriverSource(p *field.Path, s *corev1.PersistentVolumeSource) field.ErrorList {
	switch {
	case s.Glusterfs != nil:
		errs := needs(p.Child("glusterfs"), "endpoints", s.Glusterfs.EndpointsName, "path", s.Glusterfs.Path)
		if ns := s.Glusterfs.EndpointsNamespace; ns != nil {
			errs = append(errs, invalidFor(p.Child("glusterfs", "endpointsNamespace"), *ns, isDNSLabel(*ns))...)
		}
		return errs
	case s.RBD != nil:
		return append(needsMonitors(p.Child("rbd"), s.RBD.CephMonitors), needs(p.Child("rbd"), "image", s.RBD.RBDImage)...)
	case s.CephFS != nil:
		return needsMonitors(p.Child("cephfs"), s.CephFS.Monitors)
	case s.FlexVolume != nil:
		return validateFlex(p.Child("flexVolume"), s.FlexVolume.Driver, s.FlexVolume.Options)
	case s.AzureFile != nil:
		errs := needs(p.Child("azureFile"), "secretName", s.AzureFile.SecretName, "shareName", s.AzureFile.ShareName)
		if s.AzureFile.SecretNamespace != nil {
			errs = append(errs, needs(p.Child("azureFile"), "secretNamespace", *s.AzureFile.SecretNamespace)...)
		}
		return errs
	case s.ScaleIO != nil:
		return needs(p.Child("scaleIO"), "gateway", s.ScaleIO.Gateway, "system", s.ScaleIO.System, "volumeName", s.ScaleIO.VolumeName)
	case s.Cinder != nil:
		errs := needs(p.Child("cinder"), "volumeID", s.Cinder.VolumeID)
		if ref := s.Cinder.SecretRef; ref != nil {
			errs = append(errs, needs(p.Child("cinder", "secretRef"), "name", ref.Name, "namespace", ref.Namespace)...)
		}
		return errs
	case s.StorageOS != nil:
		errs := validateStorageOS(p.Child("storageos"), s.StorageOS.VolumeName, s.StorageOS.VolumeNamespace)
		if ref := s.StorageOS.SecretRef; ref != nil {
			errs = append(errs, needs(p.Child("storageos", "secretRef"), "name", ref.Name, "namespace", ref.Namespace)...)
		}
		return errs
	}
	return validateSharedSource(p, s)
}

// validateSharedSource validates the sources that are the same in Pods and
// PersistentVolumes. Upstream reports errors of gcePersistentDisk at persistentDisk.
func validateSharedSource(p *field.Path, s *corev1.PersistentVolumeSource) field.ErrorList {
	switch {
	case s.GCEPersistentDisk != nil:
		return append(needs(p.Child("persistentDisk"), "pdName", s.GCEPersistentDisk.PDName), validatePartition(p.Child("persistentDisk"), s.GCEPersistentDisk.Partition)...)
	case s.AWSElasticBlockStore != nil:
		at := p.Child("awsElasticBlockStore")
		return append(needs(at, "volumeID", s.AWSElasticBlockStore.VolumeID), validatePartition(at, s.AWSElasticBlockStore.Partition)...)
	case s.FC != nil:
		return validateFC(p.Child("fc"), s.FC)
	case s.Quobyte != nil:
		return validateQuobyte(p.Child("quobyte"), s.Quobyte)
	case s.VsphereVolume != nil:
		return needs(p.Child("vsphereVolume"), "volumePath", s.VsphereVolume.VolumePath)
	case s.PhotonPersistentDisk != nil:
		return needs(p.Child("photonPersistentDisk"), "pdID", s.PhotonPersistentDisk.PdID)
	case s.PortworxVolume != nil:
		return needs(p.Child("portworxVolume"), "volumeID", s.PortworxVolume.VolumeID)
	case s.AzureDisk != nil:
		return validateAzureDisk(p.Child("azureDisk"), s.AzureDisk)
	case s.Flocker != nil:
		return validateFlocker(p.Child("flocker"), s.Flocker)
	}
	return nil
}

func needsMonitors(p *field.Path, monitors []string) field.ErrorList {
	if len(monitors) == 0 {
		return field.ErrorList{field.Required(p.Child("monitors"), "")}
	}
	return nil
}

func validatePartition(p *field.Path, partition int32) field.ErrorList {
	if partition < 0 || partition > 255 {
		return field.ErrorList{field.Invalid(p.Child("partition"), partition, validation.InclusiveRangeError(1, 255))}
	}
	return nil
}

var reservedOption = regexp.MustCompile(`(?i)^([^/]*\.)?(kubernetes|k8s)\.io(/|$)`)

func validateFlex(p *field.Path, driver string, options map[string]string) field.ErrorList {
	errs := needs(p, "driver", driver)
	for _, key := range sortedKeys(options) {
		if reservedOption.MatchString(key) {
			errs = append(errs, field.Invalid(p.Child("options").Key(key), key, "kubernetes.io and k8s.io namespaces are reserved"))
		}
	}
	return errs
}

func validateFC(p *field.Path, fc *corev1.FCVolumeSource) field.ErrorList {
	targets := p.Child("targetWWNs")
	if len(fc.TargetWWNs) == 0 {
		if len(fc.WWIDs) == 0 {
			return field.ErrorList{field.Required(targets, "must specify either targetWWNs or wwids, but not both")}
		}
		return nil
	}
	var errs field.ErrorList
	if len(fc.WWIDs) > 0 {
		errs = append(errs, field.Invalid(targets, fc.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously"))
	}
	switch {
	case fc.Lun == nil:
		errs = append(errs, field.Required(p.Child("lun"), "lun is required if targetWWNs is specified"))
	case *fc.Lun < 0 || *fc.Lun > 255:
		errs = append(errs, field.Invalid(p.Child("lun"), *fc.Lun, validation.InclusiveRangeError(0, 255)))
	}
	return errs
}

func validateQuobyte(p *field.Path, q *corev1.QuobyteVolumeSource) field.ErrorList {
	const pairs = "must be a host:port pair or multiple pairs separated by commas"
	var errs field.ErrorList
	switch {
	case q.Registry == "":
		errs = append(errs, field.Required(p.Child("registry"), pairs))
	case len(q.Tenant) > 64:
		errs = append(errs, field.Required(p.Child("tenant"), "must be a UUID and may not exceed a length of 64 characters"))
	default:
		for pair := range strings.SplitSeq(q.Registry, ",") {
			if _, _, err := net.SplitHostPort(pair); err != nil {
				errs = append(errs, field.Invalid(p.Child("registry"), q.Registry, pairs))
			}
		}
	}
	return append(errs, needs(p, "volume", q.Volume)...)
}
