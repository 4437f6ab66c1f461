package kubeletsim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// AnnotationNode marks the simulated nodes, with the value "simulated". Nodes that
	// carry it when the process starts are taken over.
	AnnotationNode = "minikcm.dev/node"
	simulated      = "simulated"
	// runtimeScheme names the container runtime in IDs and versions.
	runtimeScheme = "minikcm://"
)

// nodeObject is the Node that a kubelet registers.
func nodeObject(n *node, opts *Options, now time.Time) *corev1.Node {
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: n.name,
			Labels: map[string]string{
				"beta.kubernetes.io/arch": runtime.GOARCH,
				"beta.kubernetes.io/os":   "linux",
				corev1.LabelArchStable:    runtime.GOARCH,
				corev1.LabelHostname:      n.name,
				corev1.LabelOSStable:      "linux",
			},
			Annotations: map[string]string{
				AnnotationNode: simulated,
				"volumes.kubernetes.io/controller-managed-attach-detach": "true",
			},
		},
		Spec: corev1.NodeSpec{
			PodCIDR:       n.cidr.String(),
			PodCIDRs:      []string{n.cidr.String()},
			Taints:        n.spec.Taints,
			Unschedulable: n.spec.Unschedulable,
		},
	}
	for k, v := range n.spec.Labels {
		object.Labels[k] = v
	}
	for k, v := range n.spec.Annotations {
		object.Annotations[k] = v
	}
	object.Status, _ = nodeStatus(object, n, opts, now)
	return object
}

// nodeStatus is what the kubelet writes about its node, and the events that come
// with the change. What others keep in the status stays as the Node has it.
func nodeStatus(object *corev1.Node, n *node, opts *Options, now time.Time) (corev1.NodeStatus, []event) {
	status := object.Status
	status.Capacity = n.spec.capacity()
	status.Allocatable = n.spec.allocatable()
	status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: n.address},
		{Type: corev1.NodeHostName, Address: n.name},
	}
	status.NodeInfo = nodeInfo(n.name, opts)
	status.Images = n.imageList()
	var events []event
	status.Conditions, events = nodeConditions(object, now)
	return status, events
}

func nodeInfo(name string, opts *Options) corev1.NodeSystemInfo {
	return corev1.NodeSystemInfo{
		MachineID:               madeUpID("machine", name, ""),
		SystemUUID:              madeUpID("system", name, "-"),
		BootID:                  madeUpID("boot", name, "-"),
		KernelVersion:           "simulated",
		OSImage:                 "minikcm " + opts.Version + " (simulated)",
		ContainerRuntimeVersion: runtimeScheme + opts.Version,
		KubeletVersion:          opts.KubeletVersion,
		OperatingSystem:         "linux",
		Architecture:            runtime.GOARCH,
		Swap:                    &corev1.NodeSwapStatus{Capacity: new(int64)},
	}
}

// madeUpID is 32 hex digits that belong to what is named, in the groups of a UUID.
func madeUpID(what, name, separator string) string {
	digest := sha256.Sum256([]byte(what + "/" + name))
	h := hex.EncodeToString(digest[:16])
	return h[:8] + separator + h[8:12] + separator + h[12:16] + separator + h[16:20] + separator + h[20:]
}

// nodeConditions returns the conditions that others keep and then the kubelet's own
// in upstream's order, all as a machine without trouble has them.
func nodeConditions(object *corev1.Node, now time.Time) ([]corev1.NodeCondition, []event) {
	own := []struct {
		corev1.NodeCondition
		event string
	}{
		{corev1.NodeCondition{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"}, "NodeHasSufficientMemory"},
		{corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"}, "NodeHasNoDiskPressure"},
		{corev1.NodeCondition{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"}, "NodeHasSufficientPID"},
		{corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"}, "NodeReady"},
	}
	old := map[corev1.NodeConditionType]corev1.NodeCondition{}
	for _, c := range object.Status.Conditions {
		old[c.Type] = c
	}
	conditions := make([]corev1.NodeCondition, 0, len(old)+len(own))
	var events []event
	for i := range own {
		c := own[i].NodeCondition
		c.LastHeartbeatTime = seconds(now)
		c.LastTransitionTime = seconds(now)
		if was, ok := old[c.Type]; ok && was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
		} else {
			events = append(events, event{
				kind: corev1.EventTypeNormal, reason: own[i].event,
				message: fmt.Sprintf("Node %s status is now: %s", object.Name, own[i].event),
			})
		}
		delete(old, c.Type)
		own[i].NodeCondition = c
	}
	for _, c := range object.Status.Conditions {
		if _, others := old[c.Type]; others {
			conditions = append(conditions, c)
		}
	}
	for i := range own {
		conditions = append(conditions, own[i].NodeCondition)
	}
	return conditions, events
}

// defaultCapacity is what a node has unless its spec says otherwise.
func defaultCapacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("32"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("250"),
	}
}
