package validation

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// iscsiTarget has the fields that the sources of Pods and PersistentVolumes share.
type iscsiTarget struct {
	portal, name string
	lun          int32
	chap, secret bool
	initiator    *string
}

func validatePodISCSI(p *field.Path, s *corev1.ISCSIVolumeSource) field.ErrorList {
	return validateISCSI(p, iscsiTarget{
		portal: s.TargetPortal, name: s.IQN, lun: s.Lun,
		chap: s.DiscoveryCHAPAuth || s.SessionCHAPAuth, secret: s.SecretRef != nil, initiator: s.InitiatorName,
	})
}

func validatePersistentISCSI(p *field.Path, s *corev1.ISCSIPersistentVolumeSource, volume string) field.ErrorList {
	errs := validateISCSI(p, iscsiTarget{
		portal: s.TargetPortal, name: s.IQN, lun: s.Lun,
		chap: s.DiscoveryCHAPAuth || s.SessionCHAPAuth, secret: s.SecretRef != nil, initiator: s.InitiatorName,
	})
	const longest = 64
	if s.InitiatorName != nil && len(volume+":"+s.TargetPortal) > longest {
		errs = append(errs, field.Invalid(p.Child("targetportal"), s.TargetPortal,
			"Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."))
	}
	if s.SecretRef != nil {
		errs = append(errs, requiredNonEmpty(p.Child("secretRef", "name"), s.SecretRef.Name)...)
	}
	return errs
}

func validateISCSI(p *field.Path, t iscsiTarget) field.ErrorList {
	errs := requiredNonEmpty(p.Child("targetPortal"), t.portal)
	errs = append(errs, requiredOr(p.Child("iqn"), t.name, iscsiNameProblems)...)
	const highestLUN = 255
	if t.lun < 0 || t.lun > highestLUN {
		errs = append(errs, field.Invalid(p.Child("lun"), t.lun, validation.InclusiveRangeError(0, highestLUN)))
	}
	if t.chap && !t.secret {
		errs = append(errs, field.Required(p.Child("secretRef"), ""))
	}
	if t.initiator != nil {
		errs = append(errs, invalidFor(p.Child("initiatorname"), *t.initiator, iscsiNameProblems(*t.initiator))...)
	}
	return errs
}

// iscsiNameProblems checks a name in one of the three forms of RFC 3720 and RFC 3980.
func iscsiNameProblems(name string) []string {
	for prefix, form := range map[string]string{
		"iqn": `iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`,
		"eui": `^eui.[[:alnum:]]{16}$`,
		"naa": `^naa.[[:alnum:]]{32}$`,
	} {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if matches, err := regexp.MatchString(form, name); err != nil || !matches {
			return []string{"must be valid format"}
		}
		return nil
	}
	return []string{"must be valid format starting with iqn, eui, or naa"}
}
