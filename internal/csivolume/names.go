package csivolume

import (
	"crypto/sha256"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// UniqueName returns the name of a volume in the status of nodes: in volumesInUse and in
// volumesAttached.
func UniqueName(source *corev1.CSIPersistentVolumeSource) corev1.UniqueVolumeName {
	return corev1.UniqueVolumeName("kubernetes.io/csi/" + source.Driver + "^" + source.VolumeHandle)
}

// AttachmentName returns the name of the VolumeAttachment of a volume to a node.
func AttachmentName(source *corev1.CSIPersistentVolumeSource, node string) string {
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(source.VolumeHandle+source.Driver+node)))
}

// IsAttachmentName reports whether a name is one that AttachmentName returns.
func IsAttachmentName(name string) bool {
	sum, is := strings.CutPrefix(name, "csi-")
	return is && len(sum) == 2*sha256.Size && strings.Trim(sum, "0123456789abcdef") == ""
}

// RequiresAttach reports whether the volumes of a driver have to be attached to a node before a
// pod can use them there. driver is the driver's CSIDriver; nil: there is none.
func RequiresAttach(driver *storagev1.CSIDriver) bool {
	return driver == nil || driver.Spec.AttachRequired == nil || *driver.Spec.AttachRequired
}
