// Package difference finds what one reconcile of a service has to read of its pods and
// EndpointSlices: those that have changed since the last reconcile, and the slices and pods
// that a decision about these depends on. A decision about a portion writes what a decision
// about all pods and slices would write, so a reconcile costs what has changed and not what
// the service has.
//
// A Record depends on its calls alone: what it returns follows the names of pods and slices,
// and not the order of a map.
package difference
