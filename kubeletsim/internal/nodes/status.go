package nodes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// The annotations that mark simulated Nodes.
const (
	// AnnotationNode marks the Nodes that the simulation registers; its value is Simulated.
	// A Node that a client creates with it, or with kwok's AnnotationKwok ("fake"), is
	// simulated too.
	AnnotationNode = "minikcm.dev/node"
	Simulated      = "simulated"
	AnnotationKwok = "kwok.x-k8s.io/node"
	kwokFake       = "fake"
)

// Object returns the Node that a kubelet registers.
func Object(n *Node, versions Versions, now time.Time) *corev1.Node {
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   n.Name,
			Labels: nodeLabels(n, versions),
			Annotations: map[string]string{
				AnnotationNode:               Simulated,
				annotationControllerAttaches: "true",
			},
		},
		Spec: corev1.NodeSpec{
			Taints:        n.spec.Taints,
			Unschedulable: n.spec.Unschedulable,
		},
	}
	if ranges := n.podCIDRs(); len(ranges) > 0 {
		object.Spec.PodCIDR, object.Spec.PodCIDRs = ranges[0], ranges
	}
	for k, v := range n.spec.Labels {
		object.Labels[k] = v
	}
	for k, v := range n.spec.Annotations {
		object.Annotations[k] = v
	}
	if n.Instance().ProviderID != "" {
		n.markUninitialized(object)
	}
	object.Status, _ = Status(object, n, versions, now)
	return object
}

// nodeLabels returns the labels that every node has.
func nodeLabels(n *Node, versions Versions) map[string]string {
	info := nodeInfo(n, versions)
	return labelsFor(n.Name, &info)
}

func labelsFor(name string, info *corev1.NodeSystemInfo) map[string]string {
	return map[string]string{
		"beta.kubernetes.io/arch": info.Architecture,
		"beta.kubernetes.io/os":   info.OperatingSystem,
		corev1.LabelArchStable:    info.Architecture,
		corev1.LabelHostname:      name,
		corev1.LabelOSStable:      info.OperatingSystem,
	}
}

// nodePatch is a merge patch of a Node.
type nodePatch struct {
	Metadata nodePatchMeta  `json:"metadata"`
	Spec     *nodeSpecPatch `json:"spec,omitempty"`
}

type nodePatchMeta struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type nodeSpecPatch struct {
	PodCIDR    string   `json:"podCIDR,omitempty"`
	PodCIDRs   []string `json:"podCIDRs,omitempty"`
	ProviderID string   `json:"providerID,omitempty"`
}

// MissingPatch returns a patch with the values that a kubelet adds to an existing Node; nil: none is missing. These are
// the default labels, the range of pod addresses, the annotation for the attach-detach controller and, on a node that
// the kubelet would have created itself, AnnotationNode; in the simulated cloud also the provider ID and labels of a
// Node that the cloud-node-controller does not initialize.
func MissingPatch(object *corev1.Node, n *Node, versions Versions) *nodePatch {
	var p nodePatch
	labels, spec := nodeLabels(n, versions), nodeSpecPatch{}
	if i := n.Instance(); i.ProviderID != "" && object.Spec.ProviderID == "" && !isUninitialized(object) {
		spec.ProviderID = i.ProviderID
		maps.Copy(labels, instanceLabels(&i))
	}
	for key, value := range labels {
		if _, has := object.Labels[key]; !has {
			if p.Metadata.Labels == nil {
				p.Metadata.Labels = map[string]string{}
			}
			p.Metadata.Labels[key] = value
		}
	}
	annotate := func(key, value string) {
		if p.Metadata.Annotations == nil {
			p.Metadata.Annotations = map[string]string{}
		}
		p.Metadata.Annotations[key] = value
	}
	if !n.Managed && object.Annotations[AnnotationNode] != Simulated {
		annotate(AnnotationNode, Simulated)
	}
	if object.Annotations[annotationControllerAttaches] != "true" {
		annotate(annotationControllerAttaches, "true")
	}
	if ranges := n.podCIDRs(); object.Spec.PodCIDR == "" && len(ranges) > 0 {
		spec.PodCIDR, spec.PodCIDRs = ranges[0], ranges
	}
	if spec.PodCIDR != "" || spec.ProviderID != "" {
		p.Spec = &spec
	}
	if p.Metadata.Labels == nil && p.Metadata.Annotations == nil && p.Spec == nil {
		return nil
	}
	return &p
}

// Status returns the status that the kubelet writes and the events of its changes. Fields that
// other components own are kept.
func Status(object *corev1.Node, n *Node, versions Versions, now time.Time) (corev1.NodeStatus, []lifecycle.Event) {
	status := object.Status
	// Extended resources that other components advertise are kept, as upstream does.
	status.Capacity = merged(object.Status.Capacity, n.spec.capacity())
	status.Allocatable = merged(status.Capacity, n.Allocatable)
	if n.Instance().ProviderID == "" || len(object.Status.Addresses) == 0 { // otherwise they are the cloud's
		status.Addresses = n.reportedAddresses()
	}
	status.NodeInfo = nodeInfo(n, versions)
	status.NodeInfo.Swap = object.Status.NodeInfo.Swap
	status.Images = n.imageList()
	status.VolumesInUse = n.inUse()
	status.DeclaredFeatures = declaredFeatures(object.Status.DeclaredFeatures, status.NodeInfo.KubeletVersion)
	var events []lifecycle.Event
	status.Conditions, events = Conditions(object, n, now)
	return status, events
}

// sameNodeStatus compares the fields that Status sets. Each node calls it every ten seconds,
// and reflection would take ten times as long.
func sameNodeStatus(a, b *corev1.NodeStatus) bool {
	return lifecycle.SameAmounts(a.Capacity, b.Capacity) && lifecycle.SameAmounts(a.Allocatable, b.Allocatable) &&
		slices.Equal(a.Addresses, b.Addresses) && a.NodeInfo == b.NodeInfo && slices.Equal(a.VolumesInUse, b.VolumesInUse) &&
		slices.Equal(a.DeclaredFeatures, b.DeclaredFeatures) &&
		slices.EqualFunc(a.Conditions, b.Conditions, func(a, b corev1.NodeCondition) bool {
			sameTimes := a.LastHeartbeatTime.Equal(&b.LastHeartbeatTime) && a.LastTransitionTime.Equal(&b.LastTransitionTime)
			a.LastHeartbeatTime, a.LastTransitionTime = b.LastHeartbeatTime, b.LastTransitionTime
			return sameTimes && a == b
		}) &&
		slices.EqualFunc(a.Images, b.Images, func(a, b corev1.ContainerImage) bool {
			return a.SizeBytes == b.SizeBytes && slices.Equal(a.Names, b.Names)
		})
}

// merged returns a copy of a overridden by b.
func merged(a, b corev1.ResourceList) corev1.ResourceList {
	list := make(corev1.ResourceList, len(a)+len(b))
	maps.Copy(list, a)
	maps.Copy(list, b)
	return list
}

// reportedAddresses returns the addresses that the client gave the Node, and the simulated node's addresses of the
// types that are missing among these.
func (n *Node) reportedAddresses() []corev1.NodeAddress {
	reported := slices.Clone(n.stated.addresses)
	states := func(t corev1.NodeAddressType) bool {
		return slices.ContainsFunc(n.stated.addresses, func(a corev1.NodeAddress) bool { return a.Type == t })
	}
	if !states(corev1.NodeInternalIP) {
		for _, address := range n.families.addresses(n.Address) {
			reported = append(reported, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
		}
	}
	if !states(corev1.NodeHostName) {
		reported = append(reported, corev1.NodeAddress{Type: corev1.NodeHostName, Address: n.Name})
	}
	return reported
}

func nodeInfo(n *Node, versions Versions) corev1.NodeSystemInfo {
	info, boots := n.stated.info, n.bootCount()
	if boots > 0 {
		info.BootID = ""
	}
	for _, field := range []struct {
		of   *string
		made string
	}{
		{&info.MachineID, madeUpID("machine", n.Name, "")},
		{&info.SystemUUID, madeUpID("system", n.Name, "-")},
		{&info.BootID, bootID(n.Name, boots)},
		{&info.KernelVersion, "simulated"},
		{&info.OSImage, "minikcm " + versions.Runtime + " (simulated)"},
		{&info.ContainerRuntimeVersion, lifecycle.RuntimeScheme + versions.Runtime},
		{&info.KubeletVersion, cmp.Or(n.spec.KubeletVersion, versions.Kubelet)},
		{&info.OperatingSystem, "linux"},
		{&info.Architecture, runtime.GOARCH},
	} {
		*field.of = cmp.Or(*field.of, field.made)
	}
	return info
}

// bootID returns the boot ID of a node's n-th start.
func bootID(node string, n int) string { return madeUpID("boot", fmt.Sprintf("%s/%d", node, n), "-") }

// madeUpID returns 32 hex digits derived from a name, in the groups of a UUID.
func madeUpID(what, name, separator string) string {
	digest := sha256.Sum256([]byte(what + "/" + name))
	h := hex.EncodeToString(digest[:16])
	return h[:8] + separator + h[8:12] + separator + h[12:16] + separator + h[16:20] + separator + h[20:]
}

// defaultCapacity is the capacity of a node whose spec has none.
func defaultCapacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("32"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("250"),
	}
}
