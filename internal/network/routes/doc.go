// Package routes decides where a router sends an HTTP request: the rules of Ingresses and HTTPRoutes are compiled into a table, and Route finds the one
// that a request matches by its host, its path and the rest of it. The cost of a request does not depend on the rules of other hosts,
// nor the cost of a change on the objects that do not change.
//
// A router is the simulated data plane of an IngressClass whose controller is Controller, or of a Gateway. A Service of type LoadBalancer
// with the annotation Annotation leads to it.
//
//minikcm:pure
package routes
