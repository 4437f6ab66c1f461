package owned

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Claims is which of some candidates an owner has.
type Claims[T metav1.Object] struct {
	// Owned are the owner's: those that it controls and those to adopt.
	Owned []T
	// Adopt are those among Owned that nobody controls yet.
	Adopt []T
	// Release are those that it controls and that its selector no longer matches.
	Release []T
}

// Claim sorts candidates by the rules of controller references
// (https://kubernetes.io/docs/concepts/architecture/garbage-collection/): what
// somebody else controls is left alone; orphans that match are adopted, unless
// they or the owner are being deleted. The order of the candidates is kept.
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
