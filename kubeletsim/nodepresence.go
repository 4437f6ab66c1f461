package kubeletsim

import (
	"k8s.io/apimachinery/pkg/types"
)

// lose ends the machine of the Node with the UID; false if that is another one.
func (n *node) lose(uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.uid != uid {
		return false
	}
	n.lost = true
	return true
}

// loseTo ends the machine if its Node gave way to the one with the UID. Until a node is
// registered, it does not know its own.
func (n *node) loseTo(uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.uid == "" || n.uid == uid {
		return false
	}
	n.lost = true
	return true
}

// regain takes back lose if the Node with the UID is the node's own after all, as when the
// informer is late.
func (n *node) regain(uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.uid == uid {
		n.lost = false
	}
	return n.uid == uid
}

func (n *node) isDown() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.crashed
}

func (n *node) isLost() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lost
}

// start makes the kubelet register and report everything when it is next looked at.
// It returns whether the machine had been down.
func (n *node) start() (crashed bool) {
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

// takeStart is whether start was called since it was last asked: restarted when the
// kubelet was started anew, resumed when it was only out of reach.
func (n *node) takeStart() (restarted, resumed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	restarted, resumed = n.restarted, n.resumed
	n.restarted, n.resumed = false, false
	return restarted, resumed
}

// settled opens a node to new pods, after it has taken over those bound to its name before.
func (n *node) settled() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settling = false
}

// stop cuts the node off from the API; with crash, its machine goes down too.
func (n *node) stop(crash bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped = true
	n.crashed = n.crashed || crash
}

// resume makes the kubelet report at once, as after a time out of reach.
func (n *node) resume() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resumed = true
}
