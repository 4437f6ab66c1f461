package nodes

import (
	"k8s.io/apimachinery/pkg/types"
)

// Lose marks the node's Node as deleted; false if the UID is another one's.
func (n *Node) Lose(uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.uid != uid {
		return false
	}
	n.lost = true
	return true
}

// LoseTo marks the node's Node as deleted if a Node with another UID has replaced it. It
// returns false for a node that has not registered yet, which does not know its UID.
func (n *Node) LoseTo(uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.uid == "" || n.uid == uid {
		return false
	}
	n.lost = true
	return true
}

// Regain undoes Lose if the Node with the UID is the node's own after all, as when the informer
// is behind.
func (n *Node) Regain(uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.uid == uid {
		n.lost = false
	}
	return n.uid == uid
}

func (n *Node) IsCrashed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.crashed
}

func (n *Node) IsLost() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lost
}

// Start brings the node back and makes the kubelet register or report when it is next synced.
// It returns whether the machine was down.
func (n *Node) Start() (crashed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	crashed = n.crashed
	n.restarted = n.restarted || n.lost || crashed
	n.resumed = n.resumed || n.stopped
	if n.lost {
		n.uid = "" // so that nothing about the Node that was deleted is taken for news of the next
	}
	if crashed {
		n.boots++
		n.rebooted = true
	}
	n.stopped, n.lost, n.crashed = false, false, false
	return crashed
}

// TakeStart reports what Start or Resume did since the last call: restarted if the kubelet
// restarted, resumed if it was only out of reach.
func (n *Node) TakeStart() (restarted, resumed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	restarted, resumed = n.restarted, n.resumed
	n.restarted, n.resumed = false, false
	return restarted, resumed
}

// Settled opens a node to new pods, after it has taken over those bound to its name before.
func (n *Node) Settled() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settling = false
}

// Stop cuts the node off from the API; with crash, its machine goes down too.
func (n *Node) Stop(crash bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped = true
	n.crashed = n.crashed || crash
}

// Unlink cuts the node off from the API server only, or ends that. It reports whether that changes anything.
func (n *Node) Unlink(cut bool) (changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	changed = n.unlinked != cut
	n.resumed = n.resumed || changed && !cut
	n.unlinked = cut
	return changed
}

// Resume makes the kubelet report at once, as after a time out of reach.
func (n *Node) Resume() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resumed = true
}
