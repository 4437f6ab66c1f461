package validation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateAppArmor validates a profile (KEP-24).
func validateAppArmor(p *field.Path, profile *corev1.AppArmorProfile) field.ErrorList {
	if profile == nil {
		return nil
	}
	const needsName = "must be set when AppArmor type is Localhost"
	local, at := profile.LocalhostProfile, p.Child("localhostProfile")
	switch profile.Type {
	case corev1.AppArmorProfileTypeLocalhost:
		var errs field.ErrorList
		switch {
		case local == nil || *local == "":
			return field.ErrorList{field.Required(at, needsName)}
		case strings.TrimSpace(*local) != *local:
			errs = append(errs, field.Invalid(at, *local, "must not be padded with whitespace"))
		}
		const longestPath = 4095
		if len(*local) > longestPath {
			errs = append(errs, field.TooLong(at, "", longestPath))
		}
		return errs
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		if local != nil {
			return field.ErrorList{field.Invalid(at, *local, "can only be set when AppArmor type is Localhost")}
		}
		return nil
	case "":
		return field.ErrorList{field.Required(p.Child("type"), "type is required when appArmorProfile is set")}
	}
	return oneOf(p.Child("type"), profile.Type,
		corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
}
