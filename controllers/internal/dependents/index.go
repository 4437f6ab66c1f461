package dependents

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
)

// indexName is the name of the index by controller. Controllers that share an informer
// share its index.
const indexName = "minikcm.dev/controller"

// Index finds the objects that an owner controls without a scan of its namespace. The
// objects belong to the informer and must not be changed.
type Index[T metav1.Object] struct{ indexer cache.Indexer }

// NewIndex adds the index to an informer's indexer, unless another controller has added it,
// and returns it. Call it before the informer starts.
func NewIndex[T metav1.Object](indexer cache.Indexer) (Index[T], error) {
	index := Index[T]{indexer}
	if _, ok := indexer.GetIndexers()[indexName]; ok {
		return index, nil
	}
	if err := indexer.AddIndexers(cache.Indexers{indexName: indexValues}); err != nil {
		return index, fmt.Errorf("indexing the cache of %T by controller: %w", *new(T), err)
	}
	return index, nil
}

func indexValues(obj any) ([]string, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an API object", obj)
	}
	if uid := controllerref.ControllerUID(o); uid != "" {
		return []string{string(uid)}, nil
	}
	return []string{orphansOf(o.GetNamespace())}, nil
}

// orphansOf returns an index value that equals no UID.
func orphansOf(namespace string) string { return "orphans/" + namespace }

// Of returns the objects that the owner controls.
func (x Index[T]) Of(owner types.UID) []T { return x.get(string(owner)) }

// Orphans returns the objects in the namespace that have no controller.
func (x Index[T]) Orphans(namespace string) []T { return x.get(orphansOf(namespace)) }

// Candidates returns the objects that Claim has to sort: the objects that the owner controls and
// the objects without a controller.
func (x Index[T]) Candidates(owner metav1.Object) []T {
	return append(x.Of(owner.GetUID()), x.Orphans(owner.GetNamespace())...)
}

func (x Index[T]) get(value string) []T {
	objs, err := x.indexer.ByIndex(indexName, value)
	if err != nil {
		return nil // happens only without the index, which NewIndex adds
	}
	found := make([]T, 0, len(objs))
	for _, obj := range objs {
		if o, ok := obj.(T); ok {
			found = append(found, o)
		}
	}
	return found
}
