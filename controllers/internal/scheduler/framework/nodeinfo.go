package framework

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// NodeInfo is a node with the pods on it and the sums of their requests. It is immutable:
// its methods return changed copies.
type NodeInfo struct {
	Node *corev1.Node
	// Allocatable is the node's capacity for pods, AllowedPods the maximum number of pods.
	Allocatable Resource
	AllowedPods int64
	// Requested is the sum of the pods' requests.
	Requested Resource
	Pods      []*PodInfo

	ScoredCPU, ScoredMemory int64
	UsedPorts               []HostPort
	HardTaints, SoftTaints  []corev1.Taint
	// Unschedulable is the node's field: a filter of all nodes that reads it does not wait for the node's memory.
	Unschedulable bool
	// Images are the sizes, in bytes, of the images that the node has, by name.
	Images map[string]int64
}

// NewNodeInfo returns a node without pods.
func NewNodeInfo(node *corev1.Node) *NodeInfo {
	return (&NodeInfo{}).WithNode(node)
}

// Name returns the node's name.
func (n *NodeInfo) Name() string { return n.Node.Name }

// With returns the node with one more pod.
func (n *NodeInfo) With(p *PodInfo) *NodeInfo {
	return n.with(p, append(slices.Clip(n.Pods), p))
}

// Append is With for the owner of the newest NodeInfo of a node. It may write beyond the end
// of the older NodeInfos' slices, in capacity that they share and do not read.
func (n *NodeInfo) Append(p *PodInfo) *NodeInfo {
	return n.with(p, append(n.Pods, p))
}

func (n *NodeInfo) with(p *PodInfo, pods []*PodInfo) *NodeInfo {
	m := *n
	m.Pods = pods
	m.Requested = m.Requested.Add(p.Requests)
	m.ScoredCPU += p.ScoredCPU
	m.ScoredMemory += p.ScoredMemory
	if len(p.Ports) > 0 {
		m.UsedPorts = append(slices.Clip(m.UsedPorts), p.Ports...)
	}
	return &m
}

// Without returns the node without the pod of p's UID; n itself if it does not have it.
func (n *NodeInfo) Without(p *PodInfo) *NodeInfo {
	i := slices.IndexFunc(n.Pods, func(o *PodInfo) bool { return o.Pod.UID == p.Pod.UID })
	if i < 0 {
		return n
	}
	p = n.Pods[i]
	m := *n
	m.Pods = slices.Delete(slices.Clone(n.Pods), i, i+1)
	m.Requested = m.Requested.Sub(p.Requests)
	m.ScoredCPU -= p.ScoredCPU
	m.ScoredMemory -= p.ScoredMemory
	if len(p.Ports) > 0 {
		m.UsedPorts = nil
		for _, o := range m.Pods {
			m.UsedPorts = append(m.UsedPorts, o.Ports...)
		}
	}
	return &m
}

// Replace returns the node with a newer state of a pod whose requests are the same.
func (n *NodeInfo) Replace(old, newer *PodInfo) *NodeInfo {
	m := *n
	m.Pods = slices.Clone(n.Pods)
	m.Pods[slices.Index(m.Pods, old)] = newer
	return &m
}

// WithNode returns the same pods on a new state of the node. nil means that the node is
// deleted while its pods remain.
func (n *NodeInfo) WithNode(node *corev1.Node) *NodeInfo {
	m := *n
	m.Node = node
	m.HardTaints, m.SoftTaints, m.Unschedulable = nil, nil, false
	m.Images = imagesOf(node, n)
	if node == nil {
		m.Allocatable, m.AllowedPods = Resource{}, 0
		return &m
	}
	m.Allocatable = NewResource(node.Status.Allocatable)
	m.AllowedPods = node.Status.Allocatable.Pods().Value()
	m.Unschedulable = node.Spec.Unschedulable
	for _, taint := range node.Spec.Taints {
		switch taint.Effect {
		case corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute:
			m.HardTaints = append(m.HardTaints, taint)
		case corev1.TaintEffectPreferNoSchedule:
			m.SoftTaints = append(m.SoftTaints, taint)
		}
	}
	return &m
}

// imagesOf returns the sizes of a node's images. It returns the map of old if the images are the same.
func imagesOf(node *corev1.Node, old *NodeInfo) map[string]int64 {
	if node == nil || len(node.Status.Images) == 0 {
		return nil
	}
	if old.Node != nil && equality.Semantic.DeepEqual(old.Node.Status.Images, node.Status.Images) {
		return old.Images
	}
	images := make(map[string]int64, len(node.Status.Images))
	for _, image := range node.Status.Images {
		for _, name := range image.Names {
			images[name] = image.SizeBytes
		}
	}
	return images
}

// HasLowerPriority reports whether the node has a pod of lower priority than p.
func (n *NodeInfo) HasLowerPriority(p *PodInfo) bool {
	return slices.ContainsFunc(n.Pods, func(o *PodInfo) bool { return o.Priority < p.Priority })
}

// Filter returns the node with only the pods for which keep returns true.
func (n *NodeInfo) Filter(keep func(*PodInfo) bool) *NodeInfo {
	m := *n
	m.Pods, m.UsedPorts = nil, nil
	m.Requested, m.ScoredCPU, m.ScoredMemory = Resource{}, 0, 0
	for _, p := range n.Pods {
		if keep(p) {
			m = *m.Append(p)
		}
	}
	return &m
}
