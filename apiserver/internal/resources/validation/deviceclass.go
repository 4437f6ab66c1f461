package validation

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/internal/resourcename"
)

func DeviceClass(c *resourcev1.DeviceClass) field.ErrorList {
	p := field.NewPath("spec")
	errs := validateDeviceSelectors(p.Child("selectors"), c.Spec.Selectors)
	errs = append(errs, listOf(p.Child("config"), c.Spec.Config, resourcev1.DeviceConfigMaxSize,
		func(p *field.Path, c *resourcev1.DeviceClassConfiguration) field.ErrorList {
			return validateDeviceConfiguration(p, &c.DeviceConfiguration)
		})...)
	if name := c.Spec.ExtendedResourceName; name != nil && (!resourcename.IsExtended(corev1.ResourceName(*name)) || len(isQualifiedName("requests."+*name)) > 0) {
		errs = append(errs, field.Invalid(p.Child("extendedResourceName"), *name, "must be a valid extended resource name"))
	}
	return errs
}
