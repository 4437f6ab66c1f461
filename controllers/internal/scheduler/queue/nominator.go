package queue

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// Nominator records the nominations: the pods for which a node is being freed, as the victims
// of a preemption terminate. It is safe for concurrent use.
type Nominator struct {
	mu     sync.Mutex
	byPod  map[types.UID]string
	byNode map[string][]*framework.PodInfo
}

// NewNominator returns a Nominator without nominations.
func NewNominator() *Nominator {
	return &Nominator{byPod: map[types.UID]string{}}
}

// Set nominates the pod to the node instead of any other; "": to none.
func (n *Nominator) Set(p *framework.PodInfo, node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	uid := p.Pod.UID
	was := n.byPod[uid]
	if was == "" && node == "" {
		return
	}
	byNode := maps.Clone(n.byNode)
	if byNode == nil {
		byNode = map[string][]*framework.PodInfo{}
	}
	if was != "" {
		delete(n.byPod, uid)
		left := slices.DeleteFunc(slices.Clone(byNode[was]), func(o *framework.PodInfo) bool { return o.Pod.UID == uid })
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

// Remove removes the pod's nomination and returns its node; "": it had none.
func (n *Nominator) Remove(uid types.UID) (node string) {
	n.mu.Lock()
	node = n.byPod[uid]
	var p *framework.PodInfo
	for _, o := range n.byNode[node] {
		if o.Pod.UID == uid {
			p = o
		}
	}
	n.mu.Unlock()
	if p != nil {
		n.Set(p, "")
	}
	return node
}

// ByNode returns the nominated pods by node. The map is immutable.
func (n *Nominator) ByNode() map[string][]*framework.PodInfo {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byNode
}
