// Package served builds the API that is served, from the built-in rows and the
// CustomResourceDefinitions. Current returns it: a value that is replaced as a whole when a
// definition changes. A kind that is replaced finishes its requests first, then its
// watches end. The objects of a definition that is being deleted are deleted before it.
package served
