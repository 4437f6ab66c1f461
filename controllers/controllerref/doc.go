// Package controllerref is shared by the controllers that own other objects. It finds the objects
// that an owner controls (claims by selector and controller reference, an index by the
// controller's UID), keeps expectations, so that a controller does not decide on a cache
// that lacks its own writes, and decides whether a pod is active, ready or available. It
// identifies objects by UID: an object that is deleted and created again under the same
// name is a different one.
package controllerref
