// Package admission runs the plugins that may modify or reject a write after it has
// been decoded and defaulted and before it is stored: first all mutations in order,
// then, after validation, all checks. The built-in plugins behave like upstream's
// plugins of the same name.
package admission
