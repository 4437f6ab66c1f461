package dependents

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/loop"
)

// Adopters returns the keys of the owners that could adopt an orphan. list lists the owners
// in the orphan's namespace, as a lister does, and selector returns an owner's selector. An
// empty selector matches no object, and no selector matches an object without labels.
func Adopters[T metav1.Object](orphan metav1.Object, list func(labels.Selector) ([]T, error), selector func(T) *metav1.LabelSelector) []types.NamespacedName {
	if len(orphan.GetLabels()) == 0 {
		return nil
	}
	all, err := list(labels.Everything())
	if err != nil {
		return nil // the lister of a cache does not fail
	}
	var keys []types.NamespacedName
	for _, owner := range all {
		s, err := metav1.LabelSelectorAsSelector(selector(owner))
		if err == nil && !s.Empty() && s.Matches(labels.Set(orphan.GetLabels())) {
			keys = append(keys, loop.KeyOf(owner))
		}
	}
	return keys
}
