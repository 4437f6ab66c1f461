// Package namespace is the namespace-controller: it empties a namespace that is
// being deleted and then lets it go.
//
// It guarantees that pods go before everything else they may still need (KEP-5080),
// that the kubernetes finalizer is removed only after one pass in which discovery
// worked and every listable resource of the namespace was seen empty, and that
// the namespace's conditions say what it is waiting for.
package namespace
