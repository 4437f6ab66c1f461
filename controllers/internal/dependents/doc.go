// Package dependents keeps the state of the objects that an owner controls, as the caches show it. It
// finds them by an index of the controller's UID, finds the owners that could adopt an
// orphan, and keeps expectations, so that a controller does not decide on a cache that lacks
// its own writes. It identifies objects by UID: an object that is deleted and created again
// under the same name is a different one.
package dependents
