package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkResourceClaims validates the claims of a pod (KEP-4381) and records their names
// for its containers.
func (c *podCheck) checkResourceClaims(p *field.Path, claims []corev1.PodResourceClaim) field.ErrorList {
	var errs field.ErrorList
	var names nameList
	for i := range claims {
		claim, at := &claims[i], p.Index(i)
		nameErrs := requiredNonEmpty(at.Child("name"), claim.Name)
		if len(nameErrs) == 0 {
			nameErrs = names.add(at.Child("name"), claim.Name)
		}
		if len(nameErrs) == 0 {
			nameErrs = invalidFor(at.Child("name"), claim.Name, isDNSLabel(claim.Name))
		}
		errs = append(errs, nameErrs...)
		if claim.Name != "" {
			c.claims = append(c.claims, claim.Name)
		}
		direct, template := claim.ResourceClaimName, claim.ResourceClaimTemplateName
		switch {
		case direct != nil && template != nil:
			errs = append(errs, field.Invalid(at, claim, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"))
		case direct == nil && template == nil:
			errs = append(errs, field.Invalid(at, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"))
		}
		if direct != nil {
			errs = append(errs, invalidFor(at.Child("resourceClaimName"), *direct, isDNSSubdomain(*direct))...)
		}
		if template != nil {
			errs = append(errs, invalidFor(at.Child("resourceClaimTemplateName"), *template, isDNSSubdomain(*template))...)
		}
	}
	return errs
}

// usedClaims validates a container's references to the pod's claims: each claim, or each
// request of a claim, at most once.
func (c *podCheck) usedClaims(p *field.Path, used []corev1.ResourceClaim) field.ErrorList {
	var errs field.ErrorList
	var seen []string
	for i := range used {
		claim, at := &used[i], p.Index(i)
		if claim.Name == "" {
			errs = append(errs, field.Required(at, ""))
			continue
		}
		errs = append(errs, usedTwice(at, claim, seen)...)
		if claim.Request == "" {
			seen = append(seen, claim.Name)
		} else {
			if !slices.Contains(seen, claim.Name) {
				errs = append(errs, invalidFor(at.Child("request"), claim.Request, isDNSLabel(claim.Request))...)
			}
			seen = append(seen, claim.Name+"/"+claim.Request)
		}
		if !slices.Contains(c.claims, claim.Name) {
			err := field.NotFound(at, claim.Name)
			err.Detail = "must be one of the names in pod.spec.resourceClaims"
			if len(c.claims) == 0 {
				err.Detail += " which is empty"
			} else {
				err.Detail += ": " + strings.Join(slices.Sorted(slices.Values(c.claims)), ", ")
			}
			errs = append(errs, err)
		}
	}
	return errs
}

func usedTwice(p *field.Path, claim *corev1.ResourceClaim, seen []string) field.ErrorList {
	whole := claim.Name
	if slices.Contains(seen, whole) {
		return field.ErrorList{field.Duplicate(p, whole)}
	}
	if claim.Request != "" {
		if key := whole + "/" + claim.Request; slices.Contains(seen, key) {
			return field.ErrorList{field.Duplicate(p, key)}
		}
		return nil
	}
	if slices.ContainsFunc(seen, func(key string) bool { return strings.HasPrefix(key, whole+"/") }) {
		return field.ErrorList{field.Duplicate(p, whole)}
	}
	return nil
}
