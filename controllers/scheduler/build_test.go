package scheduler

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// quantities parses "cpu", "4", "memory", "1Gi" and so on.
func quantities(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

type nodeOption func(*corev1.Node)

func testNode(name string, options ...nodeOption) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status:     corev1.NodeStatus{Allocatable: quantities("cpu", "4", "memory", "8Gi", "pods", "110")},
	}
	for _, o := range options {
		o(n)
	}
	return n
}

func allocatable(pairs ...string) nodeOption {
	return func(n *corev1.Node) {
		for name, q := range quantities(pairs...) {
			n.Status.Allocatable[name] = q
		}
	}
}

func tainted(key string, effect corev1.TaintEffect) nodeOption {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect})
	}
}

func nodeLabel(key, value string) nodeOption {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func podLabel(key, value string) podOption {
	return func(p *corev1.Pod) {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[key] = value
	}
}

type podOption func(*corev1.Pod)

func testPod(name string, options ...podOption) *corev1.Pod {
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

func requests(pairs ...string) podOption {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = quantities(pairs...) }
}

func hostPortOf(address string, port int32) podOption {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports,
			corev1.ContainerPort{HostIP: address, HostPort: port, ContainerPort: port, Protocol: corev1.ProtocolTCP})
	}
}

func priority(n int32) podOption {
	return func(p *corev1.Pod) { p.Spec.Priority = &n }
}

func onNode(name string) podOption {
	return func(p *corev1.Pod) { p.Spec.NodeName = name }
}

func selector(key, value string) podOption {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

func tolerating(key string, effect corev1.TaintEffect) podOption {
	return func(p *corev1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect})
	}
}

func nodeAffinity(a *corev1.NodeAffinity) podOption {
	return func(p *corev1.Pod) { p.Spec.Affinity = &corev1.Affinity{NodeAffinity: a} }
}

// namedNodes has a term for each name: the API takes one value in a field's term.
func namedNodes(names ...string) podOption {
	required := &corev1.NodeSelector{}
	for _, name := range names {
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}},
		})
	}
	return nodeAffinity(&corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required})
}

// snapshotOf returns nodes with pods on them, by their spec.nodeName.
func snapshotOf(nodes []*corev1.Node, pods ...*corev1.Pod) *Snapshot {
	infos := make([]*NodeInfo, len(nodes))
	for i, n := range nodes {
		infos[i] = NewNodeInfo(n)
		for _, p := range pods {
			if p.Spec.NodeName == n.Name {
				infos[i] = infos[i].With(NewPodInfo(p))
			}
		}
	}
	return NewSnapshot(infos)
}

func testNodes(n int, options ...nodeOption) []*corev1.Node {
	nodes := make([]*corev1.Node, n)
	for i := range nodes {
		nodes[i] = testNode(fmt.Sprintf("node-%d", i), options...)
	}
	return nodes
}

func contains(s string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
}
