// Package endpointslice is the endpointslice-controller: it maintains the EndpointSlices of
// every service with a selector from the pods that the service selects.
//
// The upstream library k8s.io/endpointslice decides which slices there should be, including
// topology hints and traffic distribution. This package provides what the library needs:
// the services that an event concerns, the pods from an index, and writes that end with the
// controller and carry their causes. It handles events of large services in batches, so
// that a rollout of n pods costs far less than n times n.
package endpointslice
