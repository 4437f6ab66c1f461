// Package fields compares the fields of objects with the API's own schemas: the Go types
// of built-in kinds, and the structural schemas of CustomResourceDefinitions. It needs no
// cluster, and objects may be partial: a field that is missing is no problem.
package fields
