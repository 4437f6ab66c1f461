// Package serviceloadbalancer is the service-lb-controller with a simulated cloud: it
// assigns an address in status.loadBalancer to every Service of type LoadBalancer, as the
// service controller of a cloud provider does, with the same finalizer and events. It
// ignores Services with a loadBalancerClass.
//
// The addresses are from ranges reserved for tests and documentation, 198.18.0.0/15 (RFC
// 2544) and 2001:db8::/96 (RFC 3849), one for each of the Service's IP families, or the one
// in spec.loadBalancerIP. They are not reachable. No two Services have the same address;
// the address of a Service follows from its namespace and name if that address is free.
package serviceloadbalancer
