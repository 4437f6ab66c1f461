package scheduler

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// nominations knows for which pods room is being made on which nodes. The map
// that it hands out is never written to.
type nominations struct {
	mu     sync.Mutex
	byPod  map[types.UID]string
	byNode map[string][]*PodInfo
}

func newNominations() *nominations {
	return &nominations{byPod: map[types.UID]string{}}
}

// set nominates the pod to the node, and to no other; "": to none.
func (n *nominations) set(p *PodInfo, node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	uid := p.Pod.UID
	was := n.byPod[uid]
	if was == "" && node == "" {
		return
	}
	byNode := maps.Clone(n.byNode)
	if byNode == nil {
		byNode = map[string][]*PodInfo{}
	}
	if was != "" {
		delete(n.byPod, uid)
		left := slices.DeleteFunc(slices.Clone(byNode[was]), func(o *PodInfo) bool { return o.Pod.UID == uid })
		if len(left) == 0 {
			delete(byNode, was)
		} else {
			byNode[was] = left
		}
	}
	if node != "" {
		n.byPod[uid] = node
		byNode[node] = append(slices.Clip(byNode[node]), p)
	}
	n.byNode = byNode
}

// remove takes the pod's nomination away and returns the node that it was for;
// "": there was none.
func (n *nominations) remove(uid types.UID) (node string) {
	n.mu.Lock()
	node = n.byPod[uid]
	var p *PodInfo
	for _, o := range n.byNode[node] {
		if o.Pod.UID == uid {
			p = o
		}
	}
	n.mu.Unlock()
	if p != nil {
		n.set(p, "")
	}
	return node
}

// get returns the nominated pods by node.
func (n *nominations) get() map[string][]*PodInfo {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byNode
}
