package strategy

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// ValidateCreate checks a new object's metadata and content.
func ValidateCreate(row *resources.Resource, obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	errs := apivalidation.ValidateObjectMetaAccessor(m, row.Namespaced, nameCheck(row), field.NewPath("metadata"))
	errs = append(errs, validateFinalizers(row, m)...)
	if row.Strategy.Validate != nil {
		errs = append(errs, row.Strategy.Validate(obj)...)
	}
	if row.Strategy.ValidateCreate != nil {
		errs = append(errs, row.Strategy.ValidateCreate(obj)...)
	}
	return invalid(row, m.GetName(), errs)
}

// validateFinalizers checks that finalizers of most built-in kinds are known to
// Kubernetes or qualified with a domain.
func validateFinalizers(row *resources.Resource, m metav1.Object) field.ErrorList {
	if row.Custom || row.Strategy.AnyFinalizer {
		return nil
	}
	var errs field.ErrorList
	for i, name := range m.GetFinalizers() {
		switch {
		case strings.Contains(name, "/"), name == string(corev1.FinalizerKubernetes), name == metav1.FinalizerOrphanDependents, name == metav1.FinalizerDeleteDependents:
		default:
			errs = append(errs, field.Invalid(field.NewPath("metadata", "finalizers").Index(i), name, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

func nameCheck(row *resources.Resource) apivalidation.ValidateNameFunc {
	if row.Strategy.NameCheck != nil {
		return row.Strategy.NameCheck
	}
	return apivalidation.NameIsDNSSubdomain
}

// ValidateUpdate checks an update through a subresource, or of the whole object if that is
// empty. now is the cluster's time.
func ValidateUpdate(row *resources.Resource, subresource string, obj, old runtime.Object, now time.Time) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	o, err := meta.Accessor(old)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	errs := apivalidation.ValidateObjectMetaAccessorUpdate(m, o, field.NewPath("metadata"))
	errs = append(errs, apivalidation.ValidateObjectMetaAccessor(m, row.Namespaced, nameCheck(row), field.NewPath("metadata"))...)
	errs = append(errs, validateFinalizers(row, m)...)
	strategy := row.Strategy
	if subresource == "status" {
		if strategy.ValidateStatusUpdate != nil {
			errs = append(errs, strategy.ValidateStatusUpdate(obj, old)...)
		}
		if strategy.ValidateStatusUpdateAt != nil && len(errs) == 0 {
			errs = strategy.ValidateStatusUpdateAt(obj, old, now)
		}
		return invalid(row, m.GetName(), errs)
	}
	if strategy.Validate != nil {
		errs = append(errs, strategy.Validate(obj)...)
	}
	if strategy.ValidateUpdate != nil && (subresource == "" || row.Custom) {
		errs = append(errs, strategy.ValidateUpdate(obj, old)...)
	}
	return invalid(row, m.GetName(), errs)
}

func invalid(row *resources.Resource, name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(row.GroupVersionKind.GroupKind(), name, distinct(errs))
}

// distinct removes duplicate errors: the validation of custom kinds also validates the
// metadata.
func distinct(errs field.ErrorList) field.ErrorList {
	seen := make(map[string]bool, len(errs))
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		text := err.Error()
		known := seen[text]
		seen[text] = true
		return known
	})
}
