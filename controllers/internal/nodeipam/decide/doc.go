// Package decide assigns pod networks to nodes. Networks records the allocated networks of each
// node, and allocates a network of each of the cluster's ranges to a node that has none. It guarantees
// that a new network overlaps no allocated one, and that a released network is allocated again last.
//
//minikcm:pure
package decide
