package validation

import (
	"maps"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func VolumeAttributesClass(c *storagev1.VolumeAttributesClass) field.ErrorList {
	errs := validateProvisioner(field.NewPath("driverName"), c.DriverName)
	if len(c.Parameters) == 0 {
		return append(errs, field.Required(field.NewPath("parameters"), "must contain at least one key/value pair"))
	}
	return append(errs, validateParameters(field.NewPath("parameters"), c.Parameters, "Provisioner Parameters")...)
}

func VolumeAttributesClassUpdate(c, old *storagev1.VolumeAttributesClass) field.ErrorList {
	var errs field.ErrorList
	if c.DriverName != old.DriverName {
		errs = append(errs, field.Forbidden(field.NewPath("driverName"), "updates to driverName are forbidden."))
	}
	if !maps.Equal(c.Parameters, old.Parameters) {
		errs = append(errs, field.Forbidden(field.NewPath("parameters"), "updates to parameters are forbidden."))
	}
	return errs
}
