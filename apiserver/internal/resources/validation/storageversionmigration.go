package validation

import (
	"strings"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func StorageVersionMigration(m *storagemigrationv1.StorageVersionMigration) field.ErrorList {
	var errs field.ErrorList
	p, resource := field.NewPath("spec", "resource"), m.Spec.Resource
	if resource.Resource == "" {
		errs = append(errs, field.Required(p.Child("resource"), "resource is required to be set"))
	} else {
		errs = append(errs, joined(p.Child("resource"), resource.Resource, validation.IsDNS1035Label(resource.Resource))...)
	}
	if resource.Group != "" {
		errs = append(errs, joined(p.Child("group"), resource.Group, isDNSSubdomain(resource.Group))...)
	}
	return errs
}

// joined returns one error with all messages, or none without messages.
func joined(p *field.Path, value string, messages []string) field.ErrorList {
	if len(messages) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(p, value, strings.Join(messages, ","))}
}

func StorageVersionMigrationUpdate(m, old *storagemigrationv1.StorageVersionMigration) field.ErrorList {
	return immutable(field.NewPath("spec"), m.Spec, old.Spec)
}

// StorageVersionMigrationStatus lets a migration end once, as succeeded or as failed, and
// its resource version be set once.
func StorageVersionMigrationStatus(m, old *storagemigrationv1.StorageVersionMigration) field.ErrorList {
	p := field.NewPath("status")
	version, conditions := p.Child("resourceVersion"), p.Child("conditions")
	now, was := m.Status.ResourceVersion, old.Status.ResourceVersion
	var errs field.ErrorList
	if now != "" {
		if _, err := resourceversion.CompareResourceVersion(now, now); err != nil {
			errs = append(errs, field.Invalid(version, now, err.Error()))
		}
	}
	errs = append(errs, metav1validation.ValidateConditions(m.Status.Conditions, conditions)...)
	if was != "" && was != now {
		errs = append(errs, field.Invalid(version, now, fieldImmutable))
	}
	succeeded, failed := string(storagemigrationv1.MigrationSucceeded), string(storagemigrationv1.MigrationFailed)
	if ended(m, succeeded) && ended(m, failed) {
		errs = append(errs, field.Invalid(conditions, m.Status.Conditions, "Both success and failed conditions cannot be true at the same time"))
	}
	if ended(old, succeeded) && !ended(m, succeeded) {
		errs = append(errs, field.Invalid(conditions, m.Status.Conditions, "Success condition cannot be set to false once it is true"))
	}
	if ended(old, failed) && !ended(m, failed) {
		errs = append(errs, field.Invalid(conditions, m.Status.Conditions, "Failed condition cannot be set to false once it is true"))
	}
	return errs
}

// ended reports whether a condition with which migrations end is true.
func ended(m *storagemigrationv1.StorageVersionMigration, condition string) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, condition)
}
