// Package controllerref has the rules that controllers of the same kind of dependents share,
// as pure functions: which objects an owner controls, adopts or releases (claims by selector
// and controller reference), which pods count for it, because they are active, ready or
// available, and what the pods of its template are.
//
//minikcm:pure
package controllerref
