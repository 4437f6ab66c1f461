// Package resources is the table of kinds that the apiserver serves: one row per
// resource, with its names, scope, storage, subresources, selectable fields, printer
// columns and strategy (defaults, preparation, validation). The generic code of the
// apiserver works on this table; no handler depends on the name of a kind. A kind's special
// behavior is a function in its row; where the function is nil, the generic code applies. The
// pure parts of a row are in packages of their own: validation, warnings and columns, which
// know no row.
package resources
