// Package columns defines the Table form of the built-in kinds, with the cells that
// upstream's apiserver returns and kubectl get prints. The functions that fill the
// cells are pure: the same object at the same time always has the same cells, in the
// JSON types that a Table may hold (string, int64, bool).
//
//minikcm:pure
package columns
