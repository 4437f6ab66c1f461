// Package endpoints is the endpoints-controller: it keeps the legacy Endpoints
// object of every service with a selector in step with the pods that the service
// selects, for clients that do not read EndpointSlices.
//
// What the object should say is a pure function of the service and its pods
// (subsets.go, decide.go). No object lists more than 1,000 addresses; one that would is cut
// and annotated, as the Endpoints API documents.
package endpoints
