// Package gatewayrunner is the controller of GatewayClasses whose controller is minikcm.dev/simulated, where the user has installed the
// definitions of the Gateway API. While there is such a class, it watches Gateways, HTTPRoutes and ReferenceGrants and what they refer to,
// lets package gateways decide, and then passes the rules on to the routers, keeps a Service of type LoadBalancer for each Gateway, and
// writes the statuses.
//
// Each process of several on one etcd runs it, since each has routers. They decide the same, and a status that is as decided is not
// written again.
package gatewayrunner
