package validation

import (
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const maxSysctlLength = 253

// sysctlName matches segments separated by dots or slashes (sysctl(8), sysctl.d(5)).
var sysctlName = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

func validateSysctls(p *field.Path, sysctls []corev1.Sysctl) field.ErrorList {
	var errs field.ErrorList
	var names nameList
	for i := range sysctls {
		name, at := sysctls[i].Name, p.Index(i).Child("name")
		switch {
		case name == "":
			errs = append(errs, field.Required(at, ""))
		case len(name) > maxSysctlLength || !sysctlName.MatchString(name):
			errs = append(errs, field.Invalid(at, name, fmt.Sprintf("must have at most %d characters and match regex %s", maxSysctlLength, sysctlName)))
		default:
			errs = append(errs, names.add(at, name)...)
		}
	}
	return errs
}
