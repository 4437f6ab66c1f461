// Package resources is the table of kinds that the apiserver serves: one row a
// resource, with its names, scope, storage, subresources, selectable fields,
// printer columns and strategy (defaults, preparation, validation). Everything
// generic in the apiserver is written once over this table; no handler knows a
// kind by name.
package resources
