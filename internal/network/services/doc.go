// Package services is what kube-proxy knows of Services: which Service has an address and a port, and which of its
// endpoints a connection may be sent to, as the Service, its EndpointSlices and the node on which the connection is
// translated say. It is pure: the choice among the endpoints follows from a number of the caller, and affinity from
// the caller's time.
//
// It follows the iptables mode of kube-proxy
// (https://kubernetes.io/docs/reference/networking/virtual-ips/): a Service without endpoints rejects connections, one whose
// traffic policy is Local drops them on nodes that have none, and a port that the Service does not have gets no answer.
//
//minikcm:pure
package services
