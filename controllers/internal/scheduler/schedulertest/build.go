package schedulertest

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// InNamespace sets the pod's namespace.
func InNamespace(name string) PodOption { return func(p *corev1.Pod) { p.Namespace = name } }

// Quantities parses "cpu", "4", "memory", "1Gi" and so on.
func Quantities(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// NodeOption changes a node.
type NodeOption func(*corev1.Node)

// Node returns a node with 4 CPUs, 8 GiB and room for 110 pods.
func Node(name string, options ...NodeOption) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status:     corev1.NodeStatus{Allocatable: Quantities("cpu", "4", "memory", "8Gi", "pods", "110")},
	}
	for _, o := range options {
		o(n)
	}
	return n
}

// Allocatable sets allocatable resources, given as in Quantities.
func Allocatable(pairs ...string) NodeOption {
	return func(n *corev1.Node) {
		for name, q := range Quantities(pairs...) {
			n.Status.Allocatable[name] = q
		}
	}
}

// Tainted adds a taint.
func Tainted(key string, effect corev1.TaintEffect) NodeOption {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect})
	}
}

// NodeLabel sets a label of the node.
func NodeLabel(key, value string) NodeOption {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

// Cordoned makes the node unschedulable.
func Cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

// PodLabel sets a label of the pod.
func PodLabel(key, value string) PodOption {
	return func(p *corev1.Pod) {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[key] = value
	}
}

// PodOption changes a pod.
type PodOption func(*corev1.Pod)

// Pod returns a pending pod of the default scheduler with one container.
func Pod(name string, options ...PodOption) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec: corev1.PodSpec{
			SchedulerName: corev1.DefaultSchedulerName,
			Containers:    []corev1.Container{{Name: "c", Image: "i"}},
		},
	}
	for _, o := range options {
		o(p)
	}
	return p
}

// Requests sets the container's requests, given as in Quantities.
func Requests(pairs ...string) PodOption {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = Quantities(pairs...) }
}

// HostPort adds a host port to the container.
func HostPort(address string, port int32) PodOption {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports,
			corev1.ContainerPort{HostIP: address, HostPort: port, ContainerPort: port, Protocol: corev1.ProtocolTCP})
	}
}

// Priority sets the pod's priority.
func Priority(n int32) PodOption {
	return func(p *corev1.Pod) { p.Spec.Priority = &n }
}

// OnNode binds the pod to a node.
func OnNode(name string) PodOption {
	return func(p *corev1.Pod) { p.Spec.NodeName = name }
}

// NodeSelector sets the pod's node selector.
func NodeSelector(key, value string) PodOption {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

// Tolerating adds a toleration.
func Tolerating(key string, effect corev1.TaintEffect) PodOption {
	return func(p *corev1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect})
	}
}

// NodeAffinity sets the pod's node affinity.
func NodeAffinity(a *corev1.NodeAffinity) PodOption {
	return func(p *corev1.Pod) { p.Spec.Affinity = &corev1.Affinity{NodeAffinity: a} }
}

// NamedNodes requires one of the named nodes. Each name has a term of its own, because the
// API accepts a single value per field.
func NamedNodes(names ...string) PodOption {
	required := &corev1.NodeSelector{}
	for _, name := range names {
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}},
		})
	}
	return NodeAffinity(&corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required})
}

// Nodes returns n nodes named node-0, node-1 and so on.
func Nodes(n int, options ...NodeOption) []*corev1.Node {
	nodes := make([]*corev1.Node, n)
	for i := range nodes {
		nodes[i] = Node(fmt.Sprintf("node-%d", i), options...)
	}
	return nodes
}

// Started sets the pod's start time, in seconds since the epoch.
func Started(seconds int64) PodOption {
	return func(p *corev1.Pod) { at := metav1.Unix(seconds, 0); p.Status.StartTime = &at }
}

// BeingPreempted makes the pod terminate as the victim of a preemption.
func BeingPreempted(p *corev1.Pod) {
	p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler}}
}

// InGroup makes the pod one of a PodGroup.
func InGroup(name string) PodOption {
	return func(p *corev1.Pod) { p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name} }
}
