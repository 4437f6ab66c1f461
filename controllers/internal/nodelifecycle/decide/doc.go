// Package decide decides about the conditions, labels and taints of a node from its heartbeats,
// and in Zones which nodes may be tainted NoExecute, at the rate that the health of their zone
// allows. It guarantees that nothing is evicted while the whole cluster is lost. Node depends
// on its arguments alone and does not change them; Zones is a value that only its methods
// change, and not safe for concurrent use.
//
//minikcm:pure
package decide
