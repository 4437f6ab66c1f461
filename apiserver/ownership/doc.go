// Package ownership works out who owns which field of a typed object after a write
// (the managedFields of KEP-555), exactly as apimachinery's managedfields does for
// writes other than applies, at a tenth of its cost: it compares the Go values field by
// field by plans made once a type, with the list and map types that the API types'
// markers state, and builds no schemas. What it has no plan for it leaves to the
// library. A test holds both against each other.
package ownership
