package hooks

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// converter copies an object into another one of its type, and converts between the
// versions of a kind and between Go types and unstructured objects. There are no
// internal versions.
type converter struct{ kinds Kinds }

// Convert implements runtime.ObjectConvertor. out keeps its kind if it has one.
func (c converter) Convert(in, out, _ any) error {
	from, ok := in.(runtime.Object)
	into, also := out.(runtime.Object)
	if !ok || !also {
		return fmt.Errorf("a %T cannot be made of a %T", out, in)
	}
	kind := into.GetObjectKind().GroupVersionKind()
	source, fromUnstructured := in.(*unstructured.Unstructured)
	target, intoUnstructured := out.(*unstructured.Unstructured)
	switch {
	case fromUnstructured && intoUnstructured:
		return c.convertCustom(source, target)
	case fromUnstructured:
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(source.Object, out); err != nil {
			return err
		}
	case intoUnstructured:
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(in)
		if err != nil {
			return err
		}
		target.Object = object
	default:
		if reflect.TypeOf(in) != reflect.TypeOf(out) {
			var err error
			if from, err = c.convertTyped(from, into); err != nil {
				return err
			}
		}
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(from.DeepCopyObject()).Elem())
	}
	if !kind.Empty() || !intoUnstructured {
		into.GetObjectKind().SetGroupVersionKind(kind)
	}
	return nil
}

// convertCustom sets target to source, converted to target's version if target has one.
func (c converter) convertCustom(source, target *unstructured.Unstructured) error {
	was, wanted := source.GroupVersionKind(), target.GroupVersionKind()
	converted := source.DeepCopy()
	if row := c.kinds.Table().ByKind(wanted); row != nil && row.Convert != nil && wanted != was && wanted.GroupKind() == was.GroupKind() {
		if err := row.Convert(converted); err != nil {
			return fmt.Errorf("converting %s %s to %s: %w", was.Kind, source.GetName(), wanted.GroupVersion(), err)
		}
	}
	target.Object = converted.Object
	return nil
}

// convertTyped converts from to the type of into, via the version in which both are
// stored.
func (c converter) convertTyped(from, into runtime.Object) (runtime.Object, error) {
	source, target := c.row(from), c.row(into)
	if source == nil || target == nil || storedAs(source) != storedAs(target) {
		return nil, fmt.Errorf("a %T cannot be made of a %T", into, from)
	}
	obj := from.DeepCopyObject()
	if source.Storage != nil {
		obj = source.Storage.To(obj)
	}
	if target.Storage != nil {
		obj = target.Storage.From(obj)
	}
	return obj, nil
}

// row returns the row of a Go type's kind.
func (c converter) row(obj runtime.Object) *resources.Resource {
	kinds, _, err := c.kinds.Scheme.ObjectKinds(obj)
	if err != nil {
		return nil
	}
	for _, kind := range kinds {
		if row := c.kinds.Table().ByKind(kind); row != nil {
			return row
		}
	}
	return nil
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (converter) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (converter) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
