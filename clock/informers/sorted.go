package informers

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// sorted is an indexer that returns objects by namespace and name. client-go's keeps
// them in maps, so a caller that takes the first object would get a different one each time.
type sorted struct{ cache.Indexer }

func (s sorted) List() []any { return byName(s.Indexer.List()) }

func (s sorted) Index(indexName string, obj any) ([]any, error) {
	found, err := s.Indexer.Index(indexName, obj)
	return byName(found), err
}

func (s sorted) ByIndex(indexName, indexedValue string) ([]any, error) {
	found, err := s.Indexer.ByIndex(indexName, indexedValue)
	return byName(found), err
}

func (s sorted) ListKeys() []string { return inOrder(s.Indexer.ListKeys()) }

func (s sorted) ListIndexFuncValues(indexName string) []string {
	return inOrder(s.Indexer.ListIndexFuncValues(indexName))
}

func (s sorted) IndexKeys(indexName, indexedValue string) ([]string, error) {
	keys, err := s.Indexer.IndexKeys(indexName, indexedValue)
	return inOrder(keys), err
}

// byName sorts a slice that the caller owns.
func byName(objects []any) []any {
	slices.SortFunc(objects, func(a, b any) int {
		x, isObject := a.(metav1.Object)
		y, areBoth := b.(metav1.Object)
		if !isObject || !areBoth {
			return 0
		}
		return cmp.Or(cmp.Compare(x.GetNamespace(), y.GetNamespace()), cmp.Compare(x.GetName(), y.GetName()))
	})
	return objects
}

func inOrder(keys []string) []string {
	slices.Sort(keys)
	return keys
}
