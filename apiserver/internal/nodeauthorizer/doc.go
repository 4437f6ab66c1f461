// Package nodeauthorizer decides what the kubelet of a node may do, as upstream's authorization
// mode Node does (Kubernetes documentation, "Using Node Authorization"): it reads the objects
// that the pods of its node refer to, and writes the objects that belong to its node. The graph
// of these relations includes every write of this process that came before the request: a
// decision that needs it first takes in the changes since the last one. NodeRestriction, in
// package admission, checks the content of the objects that are written, which a decision
// cannot see.
package nodeauthorizer
