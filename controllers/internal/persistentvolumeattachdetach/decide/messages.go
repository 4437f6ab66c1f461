package decide

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// succeeded and failed are the messages about an attempt to attach a volume. That of success ends
// with a blank, as upstream's does.
func succeeded(volume string) string {
	return fmt.Sprintf("AttachVolume.Attach succeeded for volume %q ", volume)
}

func failed(volume, why string) string {
	return fmt.Sprintf("AttachVolume.Attach failed for volume %q : %s", volume, why)
}

// multiAttachError reports to the pods on a node that the volume is attached to others. Names of
// pods in other namespaces are not for them to see.
func (d *deciding) multiAttachError(n *Node, others []*Node) {
	var using []*corev1.Pod
	for _, other := range others {
		using = append(using, other.Pods...)
	}
	for _, pod := range n.Pods {
		message := fmt.Sprintf("Multi-Attach error for volume %q %s", d.PersistentVolume.Name, usedBy(pod.Namespace, using))
		d.Events = append(d.Events, Event{pod, corev1.EventTypeWarning, "FailedAttachVolume", message})
	}
}

// usedBy returns the reason why a pod of a namespace waits for its volume: the pods that use it.
func usedBy(namespace string, using []*corev1.Pod) string {
	if len(using) == 0 {
		return "Volume is already exclusively attached to one node and can't be attached to another"
	}
	var local []string
	for _, pod := range using {
		if pod.Namespace == namespace {
			local = append(local, pod.Name)
		}
	}
	elsewhere := fmt.Sprintf("%d pod(s) in different namespaces", len(using)-len(local))
	switch {
	case len(local) == 0:
		return "Volume is already used by " + elsewhere
	case len(local) == len(using):
		return "Volume is already used by pod(s) " + strings.Join(local, ", ")
	}
	return "Volume is already used by pod(s) " + strings.Join(local, ", ") + " and " + elsewhere
}
