package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// NodeInfo is a node with the pods that count on it and their sums. It is
// immutable: a change makes a new one.
type NodeInfo struct {
	Node *corev1.Node
	// Allocatable is what the node has for pods, AllowedPods how many may be there.
	Allocatable Resource
	AllowedPods int64
	// Requested is what its pods take.
	Requested Resource
	Pods      []*PodInfo

	scoredCPU, scoredMemory int64
	ports                   []hostPort
	hard, soft              []corev1.Taint
}

// NewNodeInfo returns a node without pods.
func NewNodeInfo(node *corev1.Node) *NodeInfo {
	return (&NodeInfo{}).withNode(node)
}

// Name returns the node's name.
func (n *NodeInfo) Name() string { return n.Node.Name }

// With returns the node with one more pod.
func (n *NodeInfo) With(p *PodInfo) *NodeInfo {
	return n.with(p, append(slices.Clip(n.Pods), p))
}

// appended is With for the one who owns the newest NodeInfo of the node: it may
// write behind the end of older ones' slices, where nobody reads.
func (n *NodeInfo) appended(p *PodInfo) *NodeInfo {
	return n.with(p, append(n.Pods, p))
}

func (n *NodeInfo) with(p *PodInfo, pods []*PodInfo) *NodeInfo {
	m := *n
	m.Pods = pods
	m.Requested = m.Requested.Add(p.Requests)
	m.scoredCPU += p.scoredCPU
	m.scoredMemory += p.scoredMemory
	if len(p.ports) > 0 {
		m.ports = append(slices.Clip(m.ports), p.ports...)
	}
	return &m
}

// Without returns the node without the pod of that UID, or the node itself if it
// does not have it.
func (n *NodeInfo) Without(p *PodInfo) *NodeInfo {
	i := slices.IndexFunc(n.Pods, func(o *PodInfo) bool { return o.Pod.UID == p.Pod.UID })
	if i < 0 {
		return n
	}
	p = n.Pods[i]
	m := *n
	m.Pods = slices.Delete(slices.Clone(n.Pods), i, i+1)
	m.Requested = m.Requested.Sub(p.Requests)
	m.scoredCPU -= p.scoredCPU
	m.scoredMemory -= p.scoredMemory
	if len(p.ports) > 0 {
		m.ports = nil
		for _, o := range m.Pods {
			m.ports = append(m.ports, o.ports...)
		}
	}
	return &m
}

// replaced returns the node with a newer state of a pod that takes as much.
func (n *NodeInfo) replaced(old, newer *PodInfo) *NodeInfo {
	m := *n
	m.Pods = slices.Clone(n.Pods)
	m.Pods[slices.Index(m.Pods, old)] = newer
	return &m
}

// withNode returns the same pods on the node's new state; nil: on a node that is
// gone, while its pods are not.
func (n *NodeInfo) withNode(node *corev1.Node) *NodeInfo {
	m := *n
	m.Node = node
	m.hard, m.soft = nil, nil
	if node == nil {
		m.Allocatable, m.AllowedPods = Resource{}, 0
		return &m
	}
	m.Allocatable = NewResource(node.Status.Allocatable)
	m.AllowedPods = node.Status.Allocatable.Pods().Value()
	for _, taint := range node.Spec.Taints {
		switch taint.Effect {
		case corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute:
			m.hard = append(m.hard, taint)
		case corev1.TaintEffectPreferNoSchedule:
			m.soft = append(m.soft, taint)
		}
	}
	return &m
}

// hasLowerPriority reports whether a pod is there that p outranks.
func (n *NodeInfo) hasLowerPriority(p *PodInfo) bool {
	return slices.ContainsFunc(n.Pods, func(o *PodInfo) bool { return o.Priority < p.Priority })
}

// keeping returns the node with those of its pods for which keep says true.
func (n *NodeInfo) keeping(keep func(*PodInfo) bool) *NodeInfo {
	m := *n
	m.Pods, m.ports = nil, nil
	m.Requested, m.scoredCPU, m.scoredMemory = Resource{}, 0, 0
	for _, p := range n.Pods {
		if keep(p) {
			m = *m.appended(p)
		}
	}
	return &m
}
