// Package dns answers queries as a cluster's DNS server does, by version 1.1.0 of the specification
// (https://github.com/kubernetes/dns/blob/master/docs/specification.md) and, where that leaves a choice, as CoreDNS with
// kubeadm's configuration. It also is the resolver of a pod: which names it asks for, in which order, as the pod's
// dnsPolicy and dnsConfig say. It is pure.
//
// A name outside the cluster exists if the part after its last dot is a domain of the public DNS, and what it leads to is
// unknown; all other names do not exist.
//
//minikcm:pure
package dns
