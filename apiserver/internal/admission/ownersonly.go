package admission

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// ChangesOwnersOnly reports whether an update changes nothing but finalizers and owner
// references, as the garbage collector does.
func ChangesOwnersOnly(object, old runtime.Object) bool {
	if apiequality.Semantic.DeepEqual(object, old) {
		return true
	}
	now, err := meta.Accessor(object.DeepCopyObject())
	if err != nil {
		return false
	}
	before, err := meta.Accessor(old)
	if err != nil {
		return false
	}
	now.SetOwnerReferences(before.GetOwnerReferences())
	now.SetFinalizers(before.GetFinalizers())
	now.SetManagedFields(before.GetManagedFields())
	return apiequality.Semantic.DeepEqual(now, old)
}
