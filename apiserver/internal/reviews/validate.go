package reviews

import (
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateSubject(spec *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	errs := validateOneOf(spec.ResourceAttributes, spec.NonResourceAttributes)
	if spec.User == "" && len(spec.Groups) == 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "user"), spec.User, "at least one of user or group must be specified"))
	}
	return append(errs, validateSelectors(spec.ResourceAttributes)...)
}

func validateAccess(resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) field.ErrorList {
	return append(validateOneOf(resource, path), validateSelectors(resource)...)
}

func validateOneOf(resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) field.ErrorList {
	if (resource == nil) != (path == nil) {
		return nil
	}
	var value any
	if path != nil {
		value = struct{ Path, Verb string }(*path) // as upstream shows it, whose type has no JSON names
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec"), value, "exactly one of nonResourceAttributes or resourceAttributes must be specified")}
}

func validateNoMetadata(m metav1.ObjectMeta, problem string) field.ErrorList {
	m.ManagedFields = nil
	if apiequality.Semantic.DeepEqual(metav1.ObjectMeta{}, m) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata"), m, problem)}
}

func validateSelectors(r *authorizationv1.ResourceAttributes) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	path := field.NewPath("spec.resourceAttributes")
	if s := r.FieldSelector; s != nil {
		path := path.Child("fieldSelector")
		errs = append(errs, validateSelectorForm(path, s.RawSelector, len(s.Requirements))...)
		for i, requirement := range s.Requirements {
			errs = append(errs, metavalidation.ValidateFieldSelectorRequirement(requirement,
				metavalidation.FieldSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, path.Child("requirements").Index(i))...)
		}
	}
	if s := r.LabelSelector; s != nil {
		path := path.Child("labelSelector")
		errs = append(errs, validateSelectorForm(path, s.RawSelector, len(s.Requirements))...)
		for i, requirement := range s.Requirements {
			errs = append(errs, metavalidation.ValidateLabelSelectorRequirement(requirement,
				metavalidation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, path.Child("requirements").Index(i))...)
		}
	}
	return errs
}

func validateSelectorForm(path *field.Path, raw string, requirements int) field.ErrorList {
	switch {
	case raw != "" && requirements > 0:
		return field.ErrorList{field.Invalid(path.Child("rawSelector"), raw, "may not specified at the same time as requirements")}
	case raw == "" && requirements == 0:
		return field.ErrorList{field.Required(path.Child("requirements"), fmt.Sprintf("when %s is specified, requirements or rawSelector is required", path))}
	}
	return nil
}
