// Package protection is the rule of the controllers that protect storage objects in use:
// an object has a finalizer while it is not being deleted, and keeps it until it is not
// used any longer.
//
//minikcm:pure
package protection
