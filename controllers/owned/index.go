package owned

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// indexName is the index by controller; controllers that share an informer share
// its index.
const indexName = "minikcm.dev/controller"

// Index finds what an object controls without looking through its namespace.
// The objects are the informer's own and must not be changed.
type Index[T metav1.Object] struct{ indexer cache.Indexer }

// NewIndex adds the index to an informer's indexer, unless another controller
// has, and returns it. It is called before the informer starts.
func NewIndex[T metav1.Object](indexer cache.Indexer) (Index[T], error) {
	index := Index[T]{indexer}
	if _, ok := indexer.GetIndexers()[indexName]; ok {
		return index, nil
	}
	if err := indexer.AddIndexers(cache.Indexers{indexName: indexValues}); err != nil {
		return index, fmt.Errorf("indexing by controller: %w", err)
	}
	return index, nil
}

func indexValues(obj any) ([]string, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an API object", obj)
	}
	if uid := ControllerUID(o); uid != "" {
		return []string{string(uid)}, nil
	}
	return []string{orphansOf(o.GetNamespace())}, nil
}

// orphansOf is an index value that no UID equals.
func orphansOf(namespace string) string { return "orphans/" + namespace }

// Of returns what the owner controls.
func (x Index[T]) Of(owner types.UID) []T { return x.get(string(owner)) }

// Orphans returns what nobody controls in the namespace.
func (x Index[T]) Orphans(namespace string) []T { return x.get(orphansOf(namespace)) }

// Candidates returns what Claim has to look at: what the owner controls and what
// nobody does.
func (x Index[T]) Candidates(owner metav1.Object) []T {
	return append(x.Of(owner.GetUID()), x.Orphans(owner.GetNamespace())...)
}

func (x Index[T]) get(value string) []T {
	objs, err := x.indexer.ByIndex(indexName, value)
	if err != nil {
		return nil // only if the index is missing, which NewIndex excludes
	}
	found := make([]T, 0, len(objs))
	for _, obj := range objs {
		if o, ok := obj.(T); ok {
			found = append(found, o)
		}
	}
	return found
}
