package nodes

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// keepHealth makes a new node go on as its Node states: under pressure, not Ready for the stated
// reason, or out of reach if its kubelet does not report any more.
func (n *Node) keepHealth(said *statement) {
	n.troubled = maps.Clone(n.troubled)
	if n.troubled == nil {
		n.troubled = map[corev1.NodeConditionType]bool{}
	}
	for condition := range said.pressed {
		n.troubled[condition] = true
	}
	switch c := said.notReady; {
	case c == nil:
	case c.Status == corev1.ConditionUnknown:
		n.stopped = true
	default:
		n.troubled[corev1.NodeReady] = true
		n.notReady = conditionText{c.Reason, c.Message, "NodeNotReady"}
	}
}

// ReportsNotReady says that the kubelet reports its node as not Ready, although it works.
func (n *Node) ReportsNotReady() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.troubled[corev1.NodeReady]
}

// notReadyText is the text of the condition Ready while it is bad.
func (n *Node) notReadyText(otherwise conditionText) conditionText {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.notReady != (conditionText{}) {
		return n.notReady
	}
	return otherwise
}
