// Package endpointslice is the endpointslice-controller: it keeps the
// EndpointSlices of every service with a selector in step with the pods that the
// service selects.
//
// What slices there should be is decided by the upstream library
// k8s.io/endpointslice, topology hints and traffic distribution included. This package
// gives it what it needs: which services an event concerns, the pods from an index, and
// writes that end with the controller and carry their causes. Events of large services
// are handled in batches, so that a rollout of n pods costs far less than n times n.
package endpointslice
