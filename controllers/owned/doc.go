// Package owned is what controllers that own other objects have in common: who
// controls what (claims by selector and controller reference, an index by the
// controller's UID), expectations that keep a controller from deciding on a
// cache that has not yet seen its own writes, and what counts as an active,
// ready or available pod. Everything is tracked by UID, so that an object that
// is deleted and made again under its name is another one.
package owned
