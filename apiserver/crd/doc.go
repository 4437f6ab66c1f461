// Package crd makes rows of the resource table out of CustomResourceDefinitions,
// and holds the row of that kind itself. What a schema asks for (pruning, defaults,
// validation, CEL rules) is done by apiextensions-apiserver's libraries; here it is
// given the form of a row, so that custom objects pass the same handler chain as all
// others. A schema is compiled when the first request needs it.
package crd
