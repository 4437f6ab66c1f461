package hooks

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// Kinds is the table of kinds in the form that upstream's libraries require.
type Kinds struct {
	// Table returns the kinds that are served now.
	Table func() *resources.Table
	// Scheme has the Go types, including the types of subresources.
	Scheme *runtime.Scheme
}

// GetObjectCreater, like the methods that follow, implements upstream's
// ObjectInterfaces.
func (k Kinds) GetObjectCreater() runtime.ObjectCreater { return k }

// GetObjectTyper returns the source of an object's kind.
func (k Kinds) GetObjectTyper() runtime.ObjectTyper { return k.Scheme }

// GetObjectDefaulter returns the defaulter.
func (k Kinds) GetObjectDefaulter() runtime.ObjectDefaulter { return k }

// GetObjectConvertor returns the converter between the versions of a kind.
func (k Kinds) GetObjectConvertor() runtime.ObjectConvertor { return converter{k} }

// GetEquivalentResourceMapper returns the mapper between the versions of a kind.
func (k Kinds) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper { return k }

// New returns an empty object.
func (k Kinds) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	row := k.Table().ByKind(kind)
	if row == nil {
		return k.Scheme.New(kind)
	}
	return row.New(), nil
}

// Default implements runtime.ObjectDefaulter. The result of a policy for a built-in
// kind is unstructured, but also gets the kind's defaults. A custom object first loses
// the fields that are not in its schema, which a webhook or policy may have added.
func (k Kinds) Default(obj runtime.Object) {
	row := k.Table().ByKind(obj.GetObjectKind().GroupVersionKind())
	if row == nil {
		return
	}
	if row.Coerce != nil {
		_, _ = row.Coerce(obj, false) // validation rejects what is malformed
	}
	if row.Strategy.Default == nil {
		return
	}
	loose, unstructured := obj.(*unstructured.Unstructured)
	if row.Custom || !unstructured {
		row.Strategy.Default(obj)
		return
	}
	typed := row.New()
	// An object that does not fit its kind is rejected later, when it is converted for
	// storing.
	if (converter{k}).Convert(loose, typed, nil) != nil {
		return
	}
	row.Strategy.Default(typed)
	_ = converter{k}.Convert(typed, loose, nil)
}

// EquivalentResourcesFor returns all resources that serve the same objects.
func (k Kinds) EquivalentResourcesFor(gvr schema.GroupVersionResource, subresource string) []schema.GroupVersionResource {
	own := k.Table().Lookup(gvr)
	if own == nil {
		return nil
	}
	var same []schema.GroupVersionResource
	for _, row := range k.Table().Shown() {
		if storedAs(row) == storedAs(own) && (subresource == "" || row.Subresource(subresource) != nil) {
			same = append(same, row.GVR())
		}
	}
	return same
}

// storedAs returns the resource that stores a row's objects.
func storedAs(row *resources.Resource) schema.GroupVersionResource {
	if row.Storage != nil {
		return row.Storage.Resource
	}
	return row.GVR()
}

// KindFor returns the kind of a resource or subresource.
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
