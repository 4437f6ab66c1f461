// Package admission lets plugins change or refuse a write after it was decoded and
// defaulted and before it is stored: first all mutations in order, then, after
// validation, all checks. The built-in plugins do what upstream's of the same name
// do.
package admission
