package resources

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
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

// keepAnnotations restores, from old, the annotations of obj in which upstream shows fields that the request
// may not change.
func keepAnnotations(obj, old metav1.Object, keys ...string) {
	annotations := maps.Clone(obj.GetAnnotations())
	for _, key := range keys {
		if value, had := old.GetAnnotations()[key]; had {
			annotations = merged(annotations, map[string]string{key: value}, true)
		} else {
			delete(annotations, key)
		}
	}
	obj.SetAnnotations(annotations)
}

// takeMetadata copies the metadata that a client can change from the object that it sent through a subresource
// to the parent.
func takeMetadata(parent, sent metav1.Object) {
	parent.SetLabels(sent.GetLabels())
	parent.SetAnnotations(sent.GetAnnotations())
	parent.SetFinalizers(sent.GetFinalizers())
	parent.SetOwnerReferences(sent.GetOwnerReferences())
}

// warn adapts a function with typed arguments; old is nil for a new object.
func warn[T runtime.Object](f func(obj, old T) []string) func(obj, old runtime.Object) []string {
	return func(obj, old runtime.Object) []string {
		var before T
		if old != nil {
			before = old.(T)
		}
		return f(obj.(T), before)
	}
}

// always adapts a function whose warnings do not depend on the old object.
func always[T runtime.Object](f func(obj T) []string) func(obj, old runtime.Object) []string {
	return func(obj, _ runtime.Object) []string { return f(obj.(T)) }
}

// ofWorkload adapts the template warnings of a kind whose name is part of its pods'
// names: a new object's name gets warnings too.
func ofWorkload[T metav1.Object](f func(obj T) []string) func(obj, old runtime.Object) []string {
	return func(obj, old runtime.Object) []string {
		m := obj.(T)
		if old == nil {
			return append(warnings.PodName(m), f(m)...)
		}
		if m.GetGeneration() == old.(T).GetGeneration() {
			return nil
		}
		return f(m)
	}
}
