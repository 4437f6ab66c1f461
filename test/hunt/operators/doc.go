// Package operators hunts operators of other projects as programs, as a user of "minikcm hunt --operator" does. Each folder is a module
// that names an operator and its version. With -hunt, the operators are built and hunted, for docs/hunt.md.
package operators
