package watchcache

import "github.com/google/btree"

// tree is a B-tree. It is an interface so that packages that read a Cache do not instantiate the methods of
// its trees (docs/decisions/0062-what-importers-compile.md).
type tree[T any] interface {
	Get(T) (T, bool)
	// ReplaceOrInsert and Delete return the item that was there.
	ReplaceOrInsert(T) (T, bool)
	Delete(T) (T, bool)
	Len() int
	Ascend(btree.ItemIteratorG[T])
	AscendGreaterOrEqual(T, btree.ItemIteratorG[T])
	// clone returns a copy, in constant time.
	clone() tree[T]
}

type btreeOf[T any] struct{ *btree.BTreeG[T] }

func newTree[T any](less func(a, b T) bool) tree[T] { return btreeOf[T]{btree.NewG(degree, less)} }

func (t btreeOf[T]) clone() tree[T] { return btreeOf[T]{t.Clone()} }
