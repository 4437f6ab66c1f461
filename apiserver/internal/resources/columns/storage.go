package columns

import (
	"strings"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The annotations of the default class, for claims without a class.
const (
	defaultClassAnnotation     = "storageclass.kubernetes.io/is-default-class"
	betaDefaultClassAnnotation = "storageclass.beta.kubernetes.io/is-default-class"
)

// StorageClass is the Table of storage.k8s.io/v1 StorageClasses. A list marks the class that claims
// without one get.
func StorageClass() Table {
	doc := storagev1.StorageClass{}.SwaggerDoc()
	t := table(func(c *storagev1.StorageClass, now time.Time) []any { return storageClassCells(c, c.Name, now) },
		nameColumn(),
		text("Provisioner", doc["provisioner"]),
		text("ReclaimPolicy", doc["reclaimPolicy"]),
		text("VolumeBindingMode", doc["volumeBindingMode"]),
		text("AllowVolumeExpansion", doc["allowVolumeExpansion"]),
		ageColumn(),
	)
	t.CellsOf = func(list []runtime.Object) func(runtime.Object, time.Time) []any {
		chosen := defaultStorageClass(list)
		return func(obj runtime.Object, now time.Time) []any {
			c := obj.(*storagev1.StorageClass)
			name := c.Name
			if c == chosen {
				name += markOfDefault
			}
			return storageClassCells(c, name, now)
		}
	}
	return t
}

func storageClassCells(c *storagev1.StorageClass, name string, now time.Time) []any {
	return []any{
		name, c.Provisioner, orElse(string(deref(c.ReclaimPolicy)), "Delete"), orElse(string(deref(c.VolumeBindingMode)), "Immediate"),
		deref(c.AllowVolumeExpansion), age(c.CreationTimestamp, now),
	}
}

// markOfDefault follows the name of a default class.
const markOfDefault = " (default)"

// defaultStorageClass returns the newest class that is marked as the default, of those the first by
// name; nil if there is none.
func defaultStorageClass(list []runtime.Object) (chosen *storagev1.StorageClass) {
	for _, obj := range list {
		c, ok := obj.(*storagev1.StorageClass)
		if !ok || c.Annotations[defaultClassAnnotation] != "true" && c.Annotations[betaDefaultClassAnnotation] != "true" {
			continue
		}
		if chosen == nil || c.CreationTimestamp.After(chosen.CreationTimestamp.Time) ||
			c.CreationTimestamp.Equal(&chosen.CreationTimestamp) && c.Name < chosen.Name {
			chosen = c
		}
	}
	return chosen
}

// VolumeAttributesClass is the Table of storage.k8s.io/v1 VolumeAttributesClasses.
func VolumeAttributesClass() Table {
	return table(func(c *storagev1.VolumeAttributesClass, now time.Time) []any {
		return []any{c.Name, c.DriverName, age(c.CreationTimestamp, now)}
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
func CSIStorageCapacity() Table { return Plain() }

// VolumeAttachment is the Table of storage.k8s.io/v1 VolumeAttachments.
func VolumeAttachment() Table {
	doc, source := storagev1.VolumeAttachmentSpec{}.SwaggerDoc(), storagev1.VolumeAttachmentSource{}.SwaggerDoc()
	return table(func(a *storagev1.VolumeAttachment, now time.Time) []any {
		return []any{
			a.Name, a.Spec.Attacher, deref(a.Spec.Source.PersistentVolumeName), a.Spec.NodeName,
			a.Status.Attached, age(a.CreationTimestamp, now),
		}
	},
		nameColumn(),
		column{Name: "Attacher", Type: "string", Format: "name", Description: doc["attacher"]},
		text("PV", source["persistentVolumeName"]),
		text("Node", doc["nodeName"]),
		boolean("Attached", storagev1.VolumeAttachmentStatus{}.SwaggerDoc()["attached"]),
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
