package protection

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Finalizers returns the finalizers to write to an object, or nil, false if they need not
// change. used is only called for an object that is being deleted with the finalizer.
func Finalizers(obj metav1.Object, finalizer string, used func() bool) ([]string, bool) {
	has, finalizers := Has(obj, finalizer), obj.GetFinalizers()
	deleting := obj.GetDeletionTimestamp() != nil
	switch {
	case !deleting && !has:
		return append(slices.Clone(finalizers), finalizer), true
	case deleting && has && !used():
		return slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == finalizer }), true
	}
	return nil, false
}

// Has reports whether an object has the finalizer.
func Has(obj metav1.Object, finalizer string) bool {
	return slices.Contains(obj.GetFinalizers(), finalizer)
}
