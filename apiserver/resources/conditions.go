package resources

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// namedConditions requires that each condition of a flow control object has its own
// type.
func namedConditions[C any](p *field.Path, conditions []C, typeOf func(c *C) string) field.ErrorList {
	var errs field.ErrorList
	var types nameList
	for i := range conditions {
		name, at := typeOf(&conditions[i]), p.Index(i).Child("type")
		errs = append(errs, types.add(at, name)...)
		errs = append(errs, requiredNonEmpty(at, name)...)
	}
	return errs
}
