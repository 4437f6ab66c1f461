// Package ownership computes the owners of the fields of a typed object after a write
// (the managedFields of KEP-555), with the same result as apimachinery's managedfields
// for writes other than applies, at a tenth of the cost: it compares Go values field by
// field, with plans made once per type from the list and map types in the API types'
// markers, and needs no schemas. Cases without a plan are left to the library. A test
// compares both.
package ownership
