// Package endpointslice is the endpointslice-controller: it maintains the EndpointSlices of
// every service with a selector from the pods that the service selects.
//
// The upstream library k8s.io/endpointslice decides which slices there should be, including
// topology hints and traffic distribution. This package provides the inputs of the library:
// the services that an event concerns, the pods from an index, and writes that end with the
// controller and carry their causes. A reconcile gives the library only what has changed, and
// what a decision about that depends on (package difference). Events of large services are
// handled in batches, so that a rollout writes each slice a few times and not once a pod.
package endpointslice
