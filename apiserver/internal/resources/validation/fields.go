package validation

import (
	"maps"
	"slices"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Messages that several kinds share.
const (
	fieldImmutable   = apivalidation.FieldImmutableErrorMsg
	notGreaterThan0  = "must be greater than 0"
	maxObjectBytes   = 1 << 20
	immutableWhenSet = "field is immutable when `immutable` is set"
)

// invalidFor returns one error per message.
func invalidFor(p *field.Path, value any, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range messages {
		errs = append(errs, field.Invalid(p, value, message))
	}
	return errs
}

// requiredOr returns one error if a field is empty, else the errors of check.
func requiredOr(p *field.Path, value string, check func(string) []string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	return invalidFor(p, value, check(value))
}

// optional returns the errors of check for a field that is set.
func optional(p *field.Path, value string, check func(string) []string) field.ErrorList {
	if value == "" {
		return nil
	}
	return invalidFor(p, value, check(value))
}

// oneOf validates an enumeration. As upstream, the error lists the values in the given
// order.
func oneOf[T ~string](p *field.Path, value T, values ...T) field.ErrorList {
	if slices.Contains(values, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(p, value, values)}
}

// requiredOneOf is oneOf for a field that must be set.
func requiredOneOf[T ~string](p *field.Path, value T, values ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	return oneOf(p, value, values...)
}

func nonNegative[T int32 | int64](p *field.Path, value T) field.ErrorList {
	return apivalidation.ValidateNonnegativeField(int64(value), p)
}

func nonNegativePointer[T int32 | int64](p *field.Path, value *T) field.ErrorList {
	if value == nil {
		return nil
	}
	return nonNegative(p, *value)
}

func validatePort(p *field.Path, port int32) field.ErrorList {
	return invalidFor(p, port, validation.IsValidPortNum(int(port)))
}

// validatePortOrName validates a port given by number or by name.
func validatePortOrName(p *field.Path, port intstr.IntOrString) field.ErrorList {
	if port.Type == intstr.Int {
		return validatePort(p, port.IntVal)
	}
	return invalidFor(p, port.StrVal, validation.IsValidPortName(port.StrVal))
}

// nameList detects duplicate names.
type nameList struct{ seen sets.Set[string] }

// add returns an error if name was added before.
func (l *nameList) add(p *field.Path, name string) field.ErrorList {
	if l.seen.Has(name) {
		return field.ErrorList{field.Duplicate(p, name)}
	}
	if l.seen == nil {
		l.seen = sets.New[string]()
	}
	l.seen.Insert(name)
	return nil
}

func validateSelector(p *field.Path, selector *metav1.LabelSelector) field.ErrorList {
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, p)
}

func immutable(p *field.Path, value, old any) field.ErrorList {
	return apivalidation.ValidateImmutableField(value, old, p)
}

// isDNSSubdomain and the functions that follow validate fields, which are not prefixes
// of names.
func isDNSSubdomain(name string) []string { return validation.IsDNS1123Subdomain(name) }

func isDNSLabel(name string) []string { return validation.IsDNS1123Label(name) }

func isQualifiedName(name string) []string { return validation.IsQualifiedName(name) }

// sortedKeys makes the order of errors deterministic.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// deref returns the value of an optional field, or the zero value.
func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
