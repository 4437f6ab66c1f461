// Package graph is the graph of owners and dependents, and the decision about each object in it.
// It guarantees that no object is deleted on incomplete knowledge: only if every owner is known
// to be absent, or to wait for its dependents. The graph does no I/O and is not safe for
// concurrent use; Decide depends on its argument alone.
//
//minikcm:pure
package graph
