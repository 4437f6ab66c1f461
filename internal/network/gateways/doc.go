// Package gateways decides what Gateways of the simulated router do: from GatewayClasses, Gateways, HTTPRoutes and ReferenceGrants to the
// rules that routers have (routes.Gateway), and to the statuses that an implementation of the Gateway API has to write.
//
// It reads the kinds of the group gateway.networking.k8s.io, in the channel and version that the user has installed. The fields that it
// reads are the same in all versions since 1.0.
//
//minikcm:pure
package gateways
