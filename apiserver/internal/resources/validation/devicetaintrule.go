package validation

import (
	resourcev1 "k8s.io/api/resource/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func DeviceTaintRule(r *resourcev1.DeviceTaintRule) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	if s := r.Spec.DeviceSelector; s != nil {
		at := p.Child("deviceSelector")
		if s.Driver != nil {
			errs = append(errs, validateDriverName(at.Child("driver"), *s.Driver)...)
		}
		if s.Pool != nil {
			errs = append(errs, validatePoolName(at.Child("pool"), *s.Pool)...)
		}
		if s.Device != nil {
			errs = append(errs, invalidFor(at.Child("device"), *s.Device, isDNSLabel(*s.Device))...)
		}
	}
	return append(errs, validateDeviceTaint(p.Child("taint"), &r.Spec.Taint)...)
}

func validateDeviceTaint(p *field.Path, t *resourcev1.DeviceTaint) field.ErrorList {
	errs := invalidFor(p.Child("key"), t.Key, isQualifiedName(t.Key))
	errs = append(errs, optional(p.Child("value"), t.Value, validation.IsValidLabelValue)...)
	return append(errs, validateDeviceEffect(p.Child("effect"), t.Effect)...)
}

func DeviceTaintRuleStatus(r, _ *resourcev1.DeviceTaintRule) field.ErrorList {
	p := field.NewPath("status", "conditions")
	errs := metav1validation.ValidateConditions(r.Status.Conditions, p)
	if n := len(r.Status.Conditions); n > resourcev1.DeviceTaintRuleStatusMaxConditions {
		errs = append(errs, field.TooMany(p, n, resourcev1.DeviceTaintRuleStatusMaxConditions))
	}
	return errs
}
