package kubeletsim

// key identifies a pod by UID, or a node by name.
type key struct {
	node bool
	id   string
}

func podKey(uid string) key   { return key{id: uid} }
func nodeKey(name string) key { return key{node: true, id: name} }
