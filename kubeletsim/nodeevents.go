package kubeletsim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/kubeletsim/lifecycle"
)

// starting puts around the events of a first status those of a kubelet's start.
func (n *node) starting(events []lifecycle.Event) []lifecycle.Event {
	all := []lifecycle.Event{{Kind: corev1.EventTypeNormal, Reason: "Starting", Message: "Starting kubelet."}}
	last := max(len(events)-1, 0)
	all = append(all, events[:last]...)
	all = append(all, lifecycle.Event{Kind: corev1.EventTypeNormal, Reason: "NodeAllocatableEnforced", Message: "Updated Node Allocatable limit across pods"})
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.rebooted {
		n.rebooted = false
		all = append(all, lifecycle.Event{
			Kind: corev1.EventTypeWarning, Reason: "Rebooted",
			Message: fmt.Sprintf("Node %s has been rebooted, boot id: %s", n.name, bootID(n.name, n.boots)),
		})
	}
	return append(all, events[last:]...)
}

// nodeChanged is whether anything but the heartbeats' times would be new.
func nodeChanged(object *corev1.Node, n *node, versions Versions, now time.Time) bool {
	status, _ := nodeStatus(object, n, versions, now)
	for i := range status.Conditions {
		for j := range object.Status.Conditions {
			if old := &object.Status.Conditions[j]; old.Type == status.Conditions[i].Type {
				status.Conditions[i].LastHeartbeatTime = old.LastHeartbeatTime
			}
		}
	}
	return !sameNodeStatus(&object.Status, &status)
}

func (n *node) objectUID() types.UID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.uid
}
