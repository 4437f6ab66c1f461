package kubeletsim

// key identifies a pod by UID, or a node by name.
type key struct {
	kind keyKind
	id   string
}

type keyKind uint8

const (
	ofPod keyKind = iota
	ofNode
	// ofLease is the lease of a node.
	ofLease
	// ofAssignment is the assignment of a Node's addresses, for all processes.
	ofAssignment
	// ofStatic is the static pods of a node.
	ofStatic
	// ofPressure is a look at the resources that the pods on a node use.
	ofPressure
)

func podKey(uid string) key         { return key{ofPod, uid} }
func nodeKey(name string) key       { return key{ofNode, name} }
func leaseKey(name string) key      { return key{ofLease, name} }
func pressureKey(name string) key   { return key{ofPressure, name} }
func staticKey(name string) key     { return key{ofStatic, name} }
func assignmentKey(name string) key { return key{ofAssignment, name} }
