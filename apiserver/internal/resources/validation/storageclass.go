package validation

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

const (
	maxParameters     = 512
	maxParametersSize = 256 * 1024
)

func StorageClass(c *storagev1.StorageClass) field.ErrorList {
	errs := validateProvisioner(field.NewPath("provisioner"), c.Provisioner)
	errs = append(errs, validateParameters(field.NewPath("parameters"), c.Parameters, "Provisioner Parameters")...)
	if policy := deref(c.ReclaimPolicy); policy != "" {
		errs = append(errs, oneOf(field.NewPath("reclaimPolicy"), policy, corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)...)
	}
	errs = append(errs, requiredOneOf(field.NewPath("volumeBindingMode"), deref(c.VolumeBindingMode),
		storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer)...)
	return append(errs, validateTopologies(field.NewPath("allowedTopologies"), c.AllowedTopologies)...)
}

func validateProvisioner(p *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, name)}
	}
	return invalidFor(p, name, isQualifiedName(strings.ToLower(name)))
}

// validateParameters validates the parameters of a driver; what names the kind in the
// error.
func validateParameters(p *field.Path, parameters map[string]string, what string) field.ErrorList {
	var errs field.ErrorList
	if len(parameters) > maxParameters {
		errs = append(errs, field.TooLong(p, what+" exceeded max allowed", maxParameters))
		return errs
	}
	size := 0
	for key, value := range parameters {
		if key == "" {
			errs = append(errs, field.Invalid(p, key, "field can not be empty."))
		}
		size += len(key) + len(value)
	}
	if size > maxParametersSize {
		errs = append(errs, field.TooLong(p, "", maxParametersSize))
	}
	return errs
}

func validateTopologies(p *field.Path, terms []corev1.TopologySelectorTerm) field.ErrorList {
	var errs field.ErrorList
	for i := range terms {
		var keys nameList
		for j, r := range terms[i].MatchLabelExpressions {
			at := p.Index(i).Child("matchLabelExpressions").Index(j)
			if len(r.Values) == 0 {
				errs = append(errs, field.Required(at.Child("values"), ""))
			}
			var values nameList
			for k, value := range r.Values {
				errs = append(errs, values.add(at.Child("values").Index(k), value)...)
			}
			errs = append(errs, invalidFor(at.Child("key"), r.Key, isQualifiedName(r.Key))...)
			errs = append(errs, keys.add(at.Child("key"), r.Key)...)
		}
	}
	return errs
}

func StorageClassUpdate(c, old *storagev1.StorageClass) field.ErrorList {
	var errs field.ErrorList
	for _, f := range []frozen{
		{"parameters", maps.Equal(c.Parameters, old.Parameters)},
		{"reclaimPolicy", ptr.Equal(c.ReclaimPolicy, old.ReclaimPolicy)},
	} {
		if !f.same {
			errs = append(errs, field.Forbidden(field.NewPath(f.name), "updates to "+f.name+" are forbidden."))
		}
	}
	errs = append(errs, immutable(field.NewPath("provisioner"), c.Provisioner, old.Provisioner)...)
	return append(errs, immutable(field.NewPath("volumeBindingMode"), c.VolumeBindingMode, old.VolumeBindingMode)...)
}
