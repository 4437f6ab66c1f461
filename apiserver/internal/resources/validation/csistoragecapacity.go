package validation

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func CSIStorageCapacity(c *storagev1.CSIStorageCapacity) field.ErrorList {
	errs := invalidFor(field.NewPath("storageClassName"), c.StorageClassName, isDNSSubdomain(c.StorageClassName))
	errs = append(errs, validateSelector(field.NewPath("nodeTopology"), c.NodeTopology)...)
	for _, size := range []struct {
		name  string
		value *resource.Quantity
	}{{"capacity", c.Capacity}, {"maximumVolumeSize", c.MaximumVolumeSize}} {
		if size.value != nil {
			errs = append(errs, validateQuantity(field.NewPath(size.name), "", *size.value)...)
		}
	}
	return errs
}

func CSIStorageCapacityUpdate(c, old *storagev1.CSIStorageCapacity) field.ErrorList {
	errs := immutable(field.NewPath("nodeTopology"), c.NodeTopology, old.NodeTopology)
	return append(errs, immutable(field.NewPath("storageClassName"), c.StorageClassName, old.StorageClassName)...)
}
