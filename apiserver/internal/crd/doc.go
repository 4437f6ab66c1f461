// Package crd builds rows of the resource table from CustomResourceDefinitions, and has
// the row of that kind itself. apiextensions-apiserver's libraries implement schemas
// (pruning, defaults, validation, CEL rules); this package presents them as a row, so
// that custom objects pass the same handler chain as all others. A schema is compiled
// when the first request needs it.
package crd
