// Package simulatedingress is the controller of IngressClasses whose controller is minikcm.dev/simulated, as one that a user installs would
// be: for such a class it keeps a Service of type LoadBalancer that leads to the simulated router, and it writes the addresses of this
// Service into the status of the class's Ingresses. It watches Ingresses once there is such a class.
//
// The programs of the cluster and of the machine reach the router through that Service (internal/network/routes).
package simulatedingress
