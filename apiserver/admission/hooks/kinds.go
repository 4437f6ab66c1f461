package hooks

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/resources"
)

// Kinds is the table of kinds as upstream's libraries ask for it.
type Kinds struct {
	// Table is what is served at the moment.
	Table func() *resources.Table
	// Typer tells the kinds of Go types.
	Typer runtime.ObjectTyper
}

// GetObjectCreater implements upstream's ObjectInterfaces, as do all that follow.
func (k Kinds) GetObjectCreater() runtime.ObjectCreater { return k }

// GetObjectTyper tells an object's kind.
func (k Kinds) GetObjectTyper() runtime.ObjectTyper { return k.Typer }

// GetObjectDefaulter fills in what is left out.
func (k Kinds) GetObjectDefaulter() runtime.ObjectDefaulter { return k }

// GetObjectConvertor copies objects.
func (k Kinds) GetObjectConvertor() runtime.ObjectConvertor { return converter{} }

// GetEquivalentResourceMapper finds the versions of a kind.
func (k Kinds) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper { return k }

// New makes an empty object.
func (k Kinds) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	row := k.Table().ByKind(kind)
	if row == nil {
		return nil, runtime.NewNotRegisteredErrForKind("the apiserver", kind)
	}
	return row.New(), nil
}

// Default implements runtime.ObjectDefaulter. What a policy made of an object of a
// built-in kind is unstructured, but gets the kind's defaults all the same.
func (k Kinds) Default(obj runtime.Object) {
	row := k.Table().ByKind(obj.GetObjectKind().GroupVersionKind())
	if row == nil || row.Strategy.Default == nil {
		return
	}
	loose, unstructured := obj.(*unstructured.Unstructured)
	if row.Custom || !unstructured {
		row.Strategy.Default(obj)
		return
	}
	typed := row.New()
	// What does not fit its kind is refused when it is made the object to store.
	if (converter{}).Convert(loose, typed, nil) != nil {
		return
	}
	row.Strategy.Default(typed)
	_ = converter{}.Convert(typed, loose, nil)
}

// EquivalentResourcesFor returns the other versions of the same objects that need no
// conversion: none is made for a webhook.
func (k Kinds) EquivalentResourcesFor(gvr schema.GroupVersionResource, subresource string) []schema.GroupVersionResource {
	var same []schema.GroupVersionResource
	var own reflect.Type
	if row := k.Table().Lookup(gvr); row != nil {
		own = reflect.TypeOf(row.New())
	}
	for _, row := range k.Table().All() {
		if row.GVR() == gvr || row.Custom || row.GVR().GroupResource() != gvr.GroupResource() || reflect.TypeOf(row.New()) != own {
			continue
		}
		if subresource == "" || row.Subresource(subresource) != nil {
			same = append(same, row.GVR())
		}
	}
	return same
}

// KindFor returns what a resource or subresource speaks.
func (k Kinds) KindFor(gvr schema.GroupVersionResource, subresource string) schema.GroupVersionKind {
	row := k.Table().Lookup(gvr)
	if row == nil {
		return schema.GroupVersionKind{}
	}
	if sub := row.Subresource(subresource); sub != nil && !sub.GroupVersionKind.Empty() {
		return sub.GroupVersionKind
	}
	return row.GroupVersionKind
}

// converter copies an object into another one of its type, and between Go types and
// unstructured objects: there are no internal versions to convert from.
type converter struct{}

// Convert implements runtime.ObjectConvertor. out keeps its kind if it has one.
func (converter) Convert(in, out, _ any) error {
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
		target.Object = source.DeepCopy().Object
		return nil
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
	case reflect.TypeOf(in) != reflect.TypeOf(out):
		return fmt.Errorf("a %T cannot be made of a %T", out, in)
	default:
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(from.DeepCopyObject()).Elem())
	}
	if !kind.Empty() || !intoUnstructured {
		into.GetObjectKind().SetGroupVersionKind(kind)
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
