// Package columns makes the Table form of the built-in kinds, cell for cell what
// upstream's apiserver answers and kubectl get prints. Every function returns a
// Table made of pure functions: the same object at the same time always gives the
// same cells, in the JSON types that a Table may hold (string, int64, bool).
package columns
