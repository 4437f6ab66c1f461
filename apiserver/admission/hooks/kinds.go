package hooks

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/resources"
)

// Kinds is the table of kinds as upstream's libraries ask for it.
type Kinds struct {
	// Table is what is served at the moment.
	Table func() *resources.Table
	// Scheme has the Go types, of subresources too.
	Scheme *runtime.Scheme
}

// GetObjectCreater implements upstream's ObjectInterfaces, as do all that follow.
func (k Kinds) GetObjectCreater() runtime.ObjectCreater { return k }

// GetObjectTyper tells an object's kind.
func (k Kinds) GetObjectTyper() runtime.ObjectTyper { return k.Scheme }

// GetObjectDefaulter fills in what is left out.
func (k Kinds) GetObjectDefaulter() runtime.ObjectDefaulter { return k }

// GetObjectConvertor copies objects, and converts between the versions of a kind.
func (k Kinds) GetObjectConvertor() runtime.ObjectConvertor { return converter{k} }

// GetEquivalentResourceMapper finds the versions of a kind.
func (k Kinds) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper { return k }

// New makes an empty object.
func (k Kinds) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	row := k.Table().ByKind(kind)
	if row == nil {
		return k.Scheme.New(kind)
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
	if (converter{k}).Convert(loose, typed, nil) != nil {
		return
	}
	row.Strategy.Default(typed)
	_ = converter{k}.Convert(typed, loose, nil)
}

// EquivalentResourcesFor returns all resources under which the same objects are served.
func (k Kinds) EquivalentResourcesFor(gvr schema.GroupVersionResource, subresource string) []schema.GroupVersionResource {
	own := k.Table().Lookup(gvr)
	if own == nil {
		return nil
	}
	var same []schema.GroupVersionResource
	for _, row := range k.Table().All() {
		if storedAs(row) == storedAs(own) && (subresource == "" || row.Subresource(subresource) != nil) {
			same = append(same, row.GVR())
		}
	}
	return same
}

// storedAs is the resource that keeps a row's objects.
func storedAs(row *resources.Resource) schema.GroupVersionResource {
	if row.Storage != nil {
		return row.Storage.Resource
	}
	return row.GVR()
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
