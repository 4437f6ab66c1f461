// Package difference finds the pods and EndpointSlices of a service that one reconcile has to read:
// the ones that have changed since the last reconcile, and the slices and pods that a decision
// about these depends on. A decision about a portion makes the same writes as a decision about all
// pods and slices, so the cost of a reconcile depends on the number of changes and not on the size
// of the service.
//
// A Record depends on its calls alone: its results are in the order of the names of pods and
// slices, not in the order of a map.
package difference
