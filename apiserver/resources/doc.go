// Package resources is the table of kinds that the apiserver serves: one row per
// resource, with its names, scope, storage, subresources, selectable fields, printer
// columns and strategy (defaults, preparation, validation). The generic code of the
// apiserver works on this table; no handler depends on the name of a kind.
package resources
