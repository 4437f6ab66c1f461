package validation

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func Lease(l *coordinationv1.Lease) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	if s := l.Spec.LeaseDurationSeconds; s != nil && *s <= 0 {
		errs = append(errs, field.Invalid(p.Child("leaseDurationSeconds"), *s, notGreaterThan0))
	}
	if n := l.Spec.LeaseTransitions; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(p.Child("leaseTransitions"), *n, "must be greater than or equal to 0"))
	}
	if s := l.Spec.Strategy; s != nil {
		errs = append(errs, invalidFor(p.Child("strategy"), *s, isQualifiedName(string(*s)))...)
	}
	if holder := l.Spec.PreferredHolder; holder != nil && *holder != "" && (l.Spec.Strategy == nil || *l.Spec.Strategy == "") {
		errs = append(errs, field.Forbidden(p.Child("preferredHolder"), "may only be specified if `strategy` is defined"))
	}
	return errs
}
