package plugins

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func TestFilter(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	labelled := st.NodeAffinity(&corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "cpus", Operator: corev1.NodeSelectorOpGt, Values: []string{"8"}}}},
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd"}}}},
		},
	}})
	tests := []struct {
		name  string
		node  *corev1.Node
		on    []*corev1.Pod
		pod   *corev1.Pod
		want  string // reasons joined with "; "
		final bool
	}{
		{name: "empty node", node: st.Node("n"), pod: st.Pod("p")},
		{name: "cordoned", node: st.Node("n", st.Cordoned), pod: st.Pod("p"), want: reasonUnschedulable, final: true},
		{name: "cordoned, tolerated", node: st.Node("n", st.Cordoned), pod: st.Pod("p", st.Tolerating(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule))},
		{name: "NoSchedule", node: st.Node("n", st.Tainted("k", corev1.TaintEffectNoSchedule)), pod: st.Pod("p"), want: reasonTaint, final: true},
		{name: "NoExecute", node: st.Node("n", st.Tainted("k", corev1.TaintEffectNoExecute)), pod: st.Pod("p"), want: reasonTaint, final: true},
		{name: "PreferNoSchedule", node: st.Node("n", st.Tainted("k", corev1.TaintEffectPreferNoSchedule)), pod: st.Pod("p")},
		{name: "one of two taints tolerated", node: st.Node("n", st.Tainted("k", corev1.TaintEffectNoSchedule), st.Tainted("l", corev1.TaintEffectNoSchedule)), pod: st.Pod("p", st.Tolerating("k", "")), want: reasonTaint, final: true},
		{name: "all tolerated", node: st.Node("n", st.Tainted("k", corev1.TaintEffectNoSchedule)), pod: st.Pod("p", st.Tolerating("", ""))},
		{name: "selector matches", node: st.Node("n", st.NodeLabel("disk", "ssd")), pod: st.Pod("p", st.NodeSelector("disk", "ssd"))},
		{name: "selector does not", node: st.Node("n"), pod: st.Pod("p", st.NodeSelector("disk", "ssd")), want: reasonNodeAffinity, final: true},
		{name: "first term", node: st.Node("n", st.NodeLabel("cpus", "16")), pod: st.Pod("p", labelled)},
		{name: "second term", node: st.Node("n", st.NodeLabel("disk", "ssd")), pod: st.Pod("p", labelled)},
		{name: "no term", node: st.Node("n", st.NodeLabel("cpus", "8")), pod: st.Pod("p", labelled), want: reasonNodeAffinity, final: true},
		{name: "named", node: st.Node("n"), pod: st.Pod("p", st.NamedNodes("m", "n"))},
		{name: "another named", node: st.Node("n"), pod: st.Pod("p", st.NamedNodes("m")), want: reasonNodeAffinity, final: true},
		{name: "port taken", node: st.Node("n"), on: []*corev1.Pod{st.Pod("o", st.OnNode("n"), st.HostPort("", 80))}, pod: st.Pod("p", st.HostPort("", 80)), want: reasonPorts},
		{name: "port taken on another address", node: st.Node("n"), on: []*corev1.Pod{st.Pod("o", st.OnNode("n"), st.HostPort("10.0.0.1", 80))}, pod: st.Pod("p", st.HostPort("10.0.0.2", 80))},
		{name: "port taken on one, wanted on all", node: st.Node("n"), on: []*corev1.Pod{st.Pod("o", st.OnNode("n"), st.HostPort("10.0.0.1", 80))}, pod: st.Pod("p", st.HostPort("", 80)), want: reasonPorts},
		{name: "port wanted by a sidecar", node: st.Node("n"), on: []*corev1.Pod{st.Pod("o", st.OnNode("n"), st.HostPort("", 80))}, pod: st.Pod("p", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: &always, Ports: []corev1.ContainerPort{{HostPort: 80}}}}
		}), want: reasonPorts},
		{name: "port of another protocol", node: st.Node("n"), on: []*corev1.Pod{st.Pod("o", st.OnNode("n"), st.HostPort("", 80))}, pod: st.Pod("p", func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, Protocol: corev1.ProtocolUDP}}
		})},
		{name: "exactly full", node: st.Node("n"), on: []*corev1.Pod{st.Pod("o", st.OnNode("n"), st.Requests("cpu", "3"))}, pod: st.Pod("p", st.Requests("cpu", "1"))},
		{name: "cpu", node: st.Node("n"), on: []*corev1.Pod{st.Pod("o", st.OnNode("n"), st.Requests("cpu", "3"))}, pod: st.Pod("p", st.Requests("cpu", "1001m")), want: "Insufficient cpu"},
		{name: "never enough cpu", node: st.Node("n"), pod: st.Pod("p", st.Requests("cpu", "5")), want: "Insufficient cpu", final: true},
		{
			name: "several at once", node: st.Node("n", st.Allocatable("pods", "1")), on: []*corev1.Pod{st.Pod("o", st.OnNode("n"), st.Requests("cpu", "3", "memory", "7Gi"))},
			pod: st.Pod("p", st.Requests("cpu", "2", "memory", "2Gi", "ephemeral-storage", "1", "example.com/b", "1", "example.com/a", "1")), final: true,
			want: "Too many pods; Insufficient cpu; Insufficient memory; Insufficient ephemeral-storage; Insufficient example.com/a; Insufficient example.com/b",
		},
		{name: "too many, requests nothing", node: st.Node("n", st.Allocatable("pods", "1")), on: []*corev1.Pod{st.Pod("o", st.OnNode("n"))}, pod: st.Pod("p"), want: reasonTooManyPods},
		{name: "requests nothing of an overcommitted node", node: st.Node("n"), on: []*corev1.Pod{st.Pod("o", st.OnNode("n"), st.Requests("cpu", "9"))}, pod: st.Pod("p")},
		{name: "extended resource", node: st.Node("n", st.Allocatable("example.com/a", "2")), on: []*corev1.Pod{st.Pod("o", st.OnNode("n"), st.Requests("example.com/a", "1"))}, pod: st.Pod("p", st.Requests("example.com/a", "1"))},
		{name: "extended resource gone", node: st.Node("n", st.Allocatable("example.com/a", "1")), on: []*corev1.Pod{st.Pod("o", st.OnNode("n"), st.Requests("example.com/a", "1"))}, pod: st.Pod("p", st.Requests("example.com/a", "1")), want: "Insufficient example.com/a"},
		{name: "init container is the largest", node: st.Node("n"), pod: st.Pod("p", st.Requests("cpu", "1"), func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: st.Quantities("cpu", "5")}}}
		}), want: "Insufficient cpu", final: true},
		{name: "sidecar and overhead count", node: st.Node("n"), pod: st.Pod("p", st.Requests("cpu", "2"), func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{RestartPolicy: &always, Resources: corev1.ResourceRequirements{Requests: st.Quantities("cpu", "1")}}}
			p.Spec.Overhead = st.Quantities("cpu", "1001m")
		}), want: "Insufficient cpu", final: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := framework.SnapshotOf([]*corev1.Node{tt.node}, tt.on).Get(tt.node.Name)
			in := Input{Pod: framework.NewPodInfo(tt.pod)}
			in.prepare()
			r := in.filterNode(n)
			if r == nil {
				r = &rejection{}
			}
			if got := strings.Join(r.reasons, "; "); got != tt.want {
				t.Errorf("reasons %q, want %q", got, tt.want)
			}
			if r.final != tt.final {
				t.Errorf("final is %v, want %v", r.final, tt.final)
			}
		})
	}
}

// The only feature that pods of this release can need is the one for the action RestartAllContainers.
func TestDeclaredFeatures(t *testing.T) {
	declaring := func(features ...string) st.NodeOption {
		return func(n *corev1.Node) { n.Status.DeclaredFeatures = features }
	}
	needing := func(action corev1.ContainerRestartRuleAction) st.PodOption {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: action}}
		}
	}
	for _, tt := range []struct {
		name    string
		pod     *corev1.Pod
		message string
	}{
		{"none needed", st.Pod("p"), ""},
		{"no feature", st.Pod("p", needing(corev1.ContainerRestartRuleActionRestart)), ""},
		{"declared by none", st.Pod("p", needing(corev1.ContainerRestartRuleActionRestartAllContainers), st.NodeSelector("without", "true")), "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't match Pod's required features."},
		{"declared", st.Pod("p", needing(corev1.ContainerRestartRuleActionRestartAllContainers)), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			nodes := []*corev1.Node{st.Node("a", declaring("Another"), st.NodeLabel("without", "true")), st.Node("b", declaring("Another", "RestartAllContainersOnContainerExits"))}
			d := Decide(Input{Pod: framework.NewPodInfo(tt.pod), Snapshot: framework.SnapshotOf(nodes, nil), Pick: first})
			if tt.message == "" && d.Node == "" || tt.message != "" && (d.Node != "" || d.Diagnosis.Message() != tt.message) {
				t.Errorf("node %q, %+v", d.Node, d.Diagnosis)
			}
			if tt.name == "declared" && d.Node != "b" {
				t.Errorf("node %s", d.Node)
			}
			var p *Profile
			if help := p.NodeMayHelp(framework.NewPodInfo(tt.pod), nil, framework.NewNodeInfo(nodes[0]), false); help != (tt.name == "none needed" || tt.name == "no feature") {
				t.Errorf("node a helps: %v", help)
			}
		})
	}
}
