package resources

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// These adapters let a strategy use its own type. A row only gets objects that its New
// created.

func on[T runtime.Object](f func(T)) func(runtime.Object) {
	return func(obj runtime.Object) { f(obj.(T)) }
}

func onUpdate[T runtime.Object](f func(obj, old T)) func(obj, old runtime.Object) {
	return func(obj, old runtime.Object) { f(obj.(T), old.(T)) }
}

func check[T runtime.Object](f func(T) field.ErrorList) func(runtime.Object) field.ErrorList {
	return func(obj runtime.Object) field.ErrorList { return f(obj.(T)) }
}

func checkUpdate[T runtime.Object](f func(obj, old T) field.ErrorList) func(obj, old runtime.Object) field.ErrorList {
	return func(obj, old runtime.Object) field.ErrorList { return f(obj.(T), old.(T)) }
}

func fieldOf[T runtime.Object](f func(obj T, label string) string) func(runtime.Object, string) string {
	return func(obj runtime.Object, label string) string { return f(obj.(T), label) }
}

func writeInto[P, S runtime.Object](f func(parent P, sub S) error) func(parent, sub runtime.Object) error {
	return func(parent, sub runtime.Object) error { return f(parent.(P), sub.(S)) }
}

func writeIntoAt[P, S runtime.Object](f func(parent P, sub S, now time.Time) error) func(parent, sub runtime.Object, now time.Time) error {
	return func(parent, sub runtime.Object, now time.Time) error { return f(parent.(P), sub.(S), now) }
}

// setDefault sets a field that the client omitted.
func setDefault[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

// pointDefault does the same for an optional field.
func pointDefault[T any](p **T, value T) {
	if *p == nil {
		*p = &value
	}
}

// deref returns the value of an optional field, or the zero value.
func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
