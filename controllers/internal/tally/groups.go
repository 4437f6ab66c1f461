package tally

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ByController returns a function that assigns objects to groups: one for each controller of
// the kind, named by its UID, and one for the objects of each namespace that have no
// controller.
func ByController[T metav1.Object](kind string) func(o T) string {
	return func(o T) string {
		switch ref := metav1.GetControllerOfNoCopy(o); {
		case ref == nil:
			return Orphans(o.GetNamespace())
		case ref.Kind != kind:
			return ""
		default:
			return string(ref.UID)
		}
	}
}

// Orphans returns the group of the objects of a namespace that have no controller. It equals
// no UID.
func Orphans(namespace string) string { return "orphans/" + namespace }
