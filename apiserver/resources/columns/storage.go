package columns

import (
	"strconv"
	"strings"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations of the default class, for claims without a class.
const (
	defaultClassAnnotation     = "storageclass.kubernetes.io/is-default-class"
	betaDefaultClassAnnotation = "storageclass.beta.kubernetes.io/is-default-class"
)

// StorageClass is the Table of storage.k8s.io/v1 StorageClasses.
func StorageClass() Table {
	doc := storagev1.StorageClass{}.SwaggerDoc()
	return table(func(c *storagev1.StorageClass, now time.Time) []any {
		name := c.Name
		if c.Annotations[defaultClassAnnotation] == "true" || c.Annotations[betaDefaultClassAnnotation] == "true" {
			name += " (default)"
		}
		reclaim := orElse(string(deref(c.ReclaimPolicy)), "Delete")
		return []any{
			name, c.Provisioner, reclaim, orElse(string(deref(c.VolumeBindingMode)), "Immediate"),
			deref(c.AllowVolumeExpansion), age(c.CreationTimestamp, now),
		}
	},
		nameColumn(),
		text("Provisioner", doc["provisioner"]),
		text("ReclaimPolicy", doc["reclaimPolicy"]),
		text("VolumeBindingMode", doc["volumeBindingMode"]),
		text("AllowVolumeExpansion", doc["allowVolumeExpansion"]),
		ageColumn(),
	)
}

// VolumeAttributesClass is the Table of storage.k8s.io/v1 VolumeAttributesClasses.
func VolumeAttributesClass() Table {
	return table(func(c *storagev1.VolumeAttributesClass, now time.Time) []any {
		name := c.Name
		if c.Annotations[defaultClassAnnotation] == "true" {
			name += " (default)"
		}
		return []any{name, c.DriverName, age(c.CreationTimestamp, now)}
	},
		nameColumn(),
		text("DriverName", storagev1.VolumeAttributesClass{}.SwaggerDoc()["driverName"]),
		ageColumn(),
	)
}

// CSIDriver is the Table of storage.k8s.io/v1 CSIDrivers.
func CSIDriver() Table {
	doc := storagev1.CSIDriverSpec{}.SwaggerDoc()
	return table(func(d *storagev1.CSIDriver, now time.Time) []any {
		modes, audiences := "", unset
		if len(d.Spec.VolumeLifecycleModes) > 0 {
			modes = joined(d.Spec.VolumeLifecycleModes)
		}
		if len(d.Spec.TokenRequests) > 0 {
			var all []string
			for _, r := range d.Spec.TokenRequests {
				all = append(all, r.Audience)
			}
			audiences = strings.Join(all, ",")
		}
		return []any{
			d.Name, deref(d.Spec.AttachRequired), deref(d.Spec.PodInfoOnMount), deref(d.Spec.StorageCapacity),
			audiences, deref(d.Spec.RequiresRepublish), orElse(modes, none), age(d.CreationTimestamp, now),
		}
	},
		nameColumn(),
		boolean("AttachRequired", doc["attachRequired"]),
		boolean("PodInfoOnMount", doc["podInfoOnMount"]),
		boolean("StorageCapacity", doc["storageCapacity"]),
		text("TokenRequests", doc["tokenRequests"]),
		boolean("RequiresRepublish", doc["requiresRepublish"]),
		text("Modes", doc["volumeLifecycleModes"]),
		ageColumn(),
	)
}

func joined[T ~string](items []T) string {
	all := make([]string, 0, len(items))
	for _, item := range items {
		all = append(all, string(item))
	}
	return strings.Join(all, ",")
}

// CSINode is the Table of storage.k8s.io/v1 CSINodes.
func CSINode() Table {
	return table(func(n *storagev1.CSINode, now time.Time) []any {
		return []any{n.Name, int64(len(n.Spec.Drivers)), age(n.CreationTimestamp, now)}
	},
		nameColumn(),
		integer("Drivers", storagev1.CSINodeSpec{}.SwaggerDoc()["drivers"]),
		ageColumn(),
	)
}

// CSIStorageCapacity is the Table of storage.k8s.io/v1 CSIStorageCapacities.
func CSIStorageCapacity() Table {
	doc := storagev1.CSIStorageCapacity{}.SwaggerDoc()
	return table(func(c *storagev1.CSIStorageCapacity, _ time.Time) []any {
		capacity := unset
		if c.Capacity != nil {
			capacity = c.Capacity.String()
		}
		return []any{c.Name, c.StorageClassName, capacity}
	},
		nameColumn(),
		text("StorageClassName", doc["storageClassName"]),
		text("Capacity", doc["capacity"]),
	)
}

// VolumeAttachment is the Table of storage.k8s.io/v1 VolumeAttachments.
func VolumeAttachment() Table {
	doc, source := storagev1.VolumeAttachmentSpec{}.SwaggerDoc(), storagev1.VolumeAttachmentSource{}.SwaggerDoc()
	return table(func(a *storagev1.VolumeAttachment, now time.Time) []any {
		return []any{
			a.Name, a.Spec.Attacher, deref(a.Spec.Source.PersistentVolumeName), a.Spec.NodeName,
			strconv.FormatBool(a.Status.Attached), age(a.CreationTimestamp, now),
		}
	},
		nameColumn(),
		text("Attacher", doc["attacher"]),
		text("PV", source["persistentVolumeName"]),
		text("Node", doc["nodeName"]),
		text("Attached", storagev1.VolumeAttachmentStatus{}.SwaggerDoc()["attached"]),
		ageColumn(),
	)
}

// StorageVersionMigration is the Table of storagemigration.k8s.io/v1
// StorageVersionMigrations.
func StorageVersionMigration() Table {
	return table(func(m *storagemigrationv1.StorageVersionMigration, _ time.Time) []any {
		status := "Unknown"
		for _, c := range m.Status.Conditions {
			switch storagemigrationv1.MigrationConditionType(c.Type) {
			case storagemigrationv1.MigrationRunning, storagemigrationv1.MigrationSucceeded, storagemigrationv1.MigrationFailed:
				if c.Status == metav1.ConditionTrue {
					status = c.Type
				}
			}
		}
		return []any{m.Name, m.Spec.Resource.String(), status}
	},
		text("Name", metav1.ObjectMeta{}.SwaggerDoc()["name"]),
		text("Resource", "GroupResource to migrate"),
		text("Status", "Status of the migration"),
	)
}
