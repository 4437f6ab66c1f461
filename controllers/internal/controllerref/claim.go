package controllerref

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Claims is the result of sorting candidates for one owner.
type Claims[T metav1.Object] struct {
	// Owned are the objects that the owner controls and keeps, and the objects in Adopt.
	Owned []T
	// Adopt are the orphans among Owned, which the owner has yet to adopt.
	Adopt []T
	// Release are the objects that the owner controls but its selector no longer matches.
	Release []T
}

// Claim sorts candidates by the rules of controller references
// (https://kubernetes.io/docs/concepts/architecture/garbage-collection/): it skips objects
// that another owner controls, and adopts orphans that match, unless they or the owner are
// being deleted. It keeps the order of the candidates.
func Claim[T metav1.Object](owner metav1.Object, selector labels.Selector, candidates []T) Claims[T] {
	claims := Claims[T]{Owned: make([]T, 0, len(candidates))}
	going := owner.GetDeletionTimestamp() != nil
	for _, o := range candidates {
		controller := metav1.GetControllerOfNoCopy(o)
		if controller != nil && controller.UID != owner.GetUID() {
			continue
		}
		matches := selector.Matches(labels.Set(o.GetLabels()))
		switch {
		case controller != nil && matches:
			claims.Owned = append(claims.Owned, o)
		case controller != nil:
			if !going {
				claims.Release = append(claims.Release, o)
			}
		case matches && !going && o.GetDeletionTimestamp() == nil && o.GetNamespace() == owner.GetNamespace():
			claims.Owned = append(claims.Owned, o)
			claims.Adopt = append(claims.Adopt, o)
		}
	}
	return claims
}

// ControllerUID returns the UID of the object's controller, or "".
func ControllerUID(o metav1.Object) types.UID {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return ref.UID
	}
	return ""
}
