package nodes

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// Starting returns the events of a kubelet's start, with the given events of the first status
// among them in upstream's order.
func (n *Node) Starting(events []lifecycle.Event) []lifecycle.Event {
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
			Message: fmt.Sprintf("Node %s has been rebooted, boot id: %s", n.Name, bootID(n.Name, n.boots)),
		})
	}
	return append(all, events[last:]...)
}

// StatusChanged reports whether a new status would differ in anything but the heartbeat times.
func StatusChanged(object *corev1.Node, n *Node, versions Versions, now time.Time) bool {
	status, _ := Status(object, n, versions, now)
	for i := range status.Conditions {
		for j := range object.Status.Conditions {
			if old := &object.Status.Conditions[j]; old.Type == status.Conditions[i].Type {
				status.Conditions[i].LastHeartbeatTime = old.LastHeartbeatTime
			}
		}
	}
	return !sameNodeStatus(&object.Status, &status)
}

func (n *Node) UID() types.UID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.uid
}
