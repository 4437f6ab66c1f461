package strategy

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// Default sets the defaults of fields that the client omitted.
func Default(row *resources.Resource, obj runtime.Object) {
	if row.Strategy.Default != nil {
		row.Strategy.Default(obj)
	}
}

// ClearTypeMeta removes kind and apiVersion: inside the apiserver, the row determines
// an object's kind. Custom objects keep theirs, which are part of their content.
func ClearTypeMeta(obj runtime.Object) {
	if _, untyped := obj.(runtime.Unstructured); untyped {
		return
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
}
