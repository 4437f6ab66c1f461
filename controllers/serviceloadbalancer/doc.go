// Package serviceloadbalancer is the service-lb-controller with a simulated cloud: it
// gives every Service of type LoadBalancer an address in status.loadBalancer, as the
// service controller of a cloud's provider does, with the same finalizer and events.
// Services with a loadBalancerClass are somebody else's.
//
// The addresses are from ranges that are for tests and documentation, 198.18.0.0/15
// (RFC 2544) and 2001:db8::/96 (RFC 3849), one of each of the Service's IP families, or
// the one that spec.loadBalancerIP asks for. Nothing answers there. No two Services have
// the same address; which one a Service gets follows from its namespace and name as long
// as that one is free.
package serviceloadbalancer
