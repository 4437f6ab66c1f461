package resources

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func deviceClassRow() *Resource {
	return &Resource{
		GroupVersionKind: resourcev1.SchemeGroupVersion.WithKind("DeviceClass"),
		Plural:           "deviceclasses",
		New:              func() runtime.Object { return &resourcev1.DeviceClass{} },
		NewList:          func() runtime.Object { return &resourcev1.DeviceClassList{} },
		Strategy: Strategy{
			Generation: true,
			Validate:   check(validateDeviceClass),
		},
	}
}

func validateDeviceClass(c *resourcev1.DeviceClass) field.ErrorList {
	p := field.NewPath("spec")
	errs := validateDeviceSelectors(p.Child("selectors"), c.Spec.Selectors)
	if n := len(c.Spec.Config); n > resourcev1.DeviceConfigMaxSize {
		errs = append(errs, field.TooMany(p.Child("config"), n, resourcev1.DeviceConfigMaxSize))
	}
	for i := range c.Spec.Config {
		errs = append(errs, validateDeviceConfiguration(p.Child("config").Index(i), &c.Spec.Config[i].DeviceConfiguration)...)
	}
	if name := c.Spec.ExtendedResourceName; name != nil {
		errs = append(errs, requiredOr(p.Child("extendedResourceName"), *name, isQualifiedName)...)
	}
	return errs
}
