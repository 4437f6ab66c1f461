// Package endpoints is the endpoints-controller: it maintains the legacy Endpoints object
// of every service with a selector from the pods that the service selects, for clients that
// do not read EndpointSlices.
//
// The object is a pure function of the service and its pods (package decide), which are kept
// in an account that is updated with the pods that change. It lists at
// most 1,000 addresses; a larger one is truncated and annotated, as the Endpoints
// API documents.
package endpoints
