package scheduler

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestFilter(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	labelled := nodeAffinity(&corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
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
		{name: "empty node", node: testNode("n"), pod: testPod("p")},
		{name: "cordoned", node: testNode("n", cordoned), pod: testPod("p"), want: reasonUnschedulable, final: true},
		{name: "cordoned, tolerated", node: testNode("n", cordoned), pod: testPod("p", tolerating(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule))},
		{name: "NoSchedule", node: testNode("n", tainted("k", corev1.TaintEffectNoSchedule)), pod: testPod("p"), want: reasonTaint, final: true},
		{name: "NoExecute", node: testNode("n", tainted("k", corev1.TaintEffectNoExecute)), pod: testPod("p"), want: reasonTaint, final: true},
		{name: "PreferNoSchedule", node: testNode("n", tainted("k", corev1.TaintEffectPreferNoSchedule)), pod: testPod("p")},
		{name: "one of two taints tolerated", node: testNode("n", tainted("k", corev1.TaintEffectNoSchedule), tainted("l", corev1.TaintEffectNoSchedule)), pod: testPod("p", tolerating("k", "")), want: reasonTaint, final: true},
		{name: "all tolerated", node: testNode("n", tainted("k", corev1.TaintEffectNoSchedule)), pod: testPod("p", tolerating("", ""))},
		{name: "selector matches", node: testNode("n", nodeLabel("disk", "ssd")), pod: testPod("p", selector("disk", "ssd"))},
		{name: "selector does not", node: testNode("n"), pod: testPod("p", selector("disk", "ssd")), want: reasonNodeAffinity, final: true},
		{name: "first term", node: testNode("n", nodeLabel("cpus", "16")), pod: testPod("p", labelled)},
		{name: "second term", node: testNode("n", nodeLabel("disk", "ssd")), pod: testPod("p", labelled)},
		{name: "no term", node: testNode("n", nodeLabel("cpus", "8")), pod: testPod("p", labelled), want: reasonNodeAffinity, final: true},
		{name: "named", node: testNode("n"), pod: testPod("p", namedNodes("m", "n"))},
		{name: "another named", node: testNode("n"), pod: testPod("p", namedNodes("m")), want: reasonNodeAffinity, final: true},
		{name: "port taken", node: testNode("n"), on: []*corev1.Pod{testPod("o", onNode("n"), hostPortOf("", 80))}, pod: testPod("p", hostPortOf("", 80)), want: reasonPorts},
		{name: "port taken on another address", node: testNode("n"), on: []*corev1.Pod{testPod("o", onNode("n"), hostPortOf("10.0.0.1", 80))}, pod: testPod("p", hostPortOf("10.0.0.2", 80))},
		{name: "port taken on one, wanted on all", node: testNode("n"), on: []*corev1.Pod{testPod("o", onNode("n"), hostPortOf("10.0.0.1", 80))}, pod: testPod("p", hostPortOf("", 80)), want: reasonPorts},
		{name: "port wanted by a sidecar", node: testNode("n"), on: []*corev1.Pod{testPod("o", onNode("n"), hostPortOf("", 80))}, pod: testPod("p", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: &always, Ports: []corev1.ContainerPort{{HostPort: 80}}}}
		}), want: reasonPorts},
		{name: "port of another protocol", node: testNode("n"), on: []*corev1.Pod{testPod("o", onNode("n"), hostPortOf("", 80))}, pod: testPod("p", func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, Protocol: corev1.ProtocolUDP}}
		})},
		{name: "exactly full", node: testNode("n"), on: []*corev1.Pod{testPod("o", onNode("n"), requests("cpu", "3"))}, pod: testPod("p", requests("cpu", "1"))},
		{name: "cpu", node: testNode("n"), on: []*corev1.Pod{testPod("o", onNode("n"), requests("cpu", "3"))}, pod: testPod("p", requests("cpu", "1001m")), want: "Insufficient cpu"},
		{name: "never enough cpu", node: testNode("n"), pod: testPod("p", requests("cpu", "5")), want: "Insufficient cpu", final: true},
		{
			name: "several at once", node: testNode("n", allocatable("pods", "1")), on: []*corev1.Pod{testPod("o", onNode("n"), requests("cpu", "3", "memory", "7Gi"))},
			pod: testPod("p", requests("cpu", "2", "memory", "2Gi", "ephemeral-storage", "1", "example.com/b", "1", "example.com/a", "1")), final: true,
			want: "Too many pods; Insufficient cpu; Insufficient memory; Insufficient ephemeral-storage; Insufficient example.com/a; Insufficient example.com/b",
		},
		{name: "too many, requests nothing", node: testNode("n", allocatable("pods", "1")), on: []*corev1.Pod{testPod("o", onNode("n"))}, pod: testPod("p"), want: reasonTooManyPods},
		{name: "requests nothing of an overcommitted node", node: testNode("n"), on: []*corev1.Pod{testPod("o", onNode("n"), requests("cpu", "9"))}, pod: testPod("p")},
		{name: "extended resource", node: testNode("n", allocatable("example.com/a", "2")), on: []*corev1.Pod{testPod("o", onNode("n"), requests("example.com/a", "1"))}, pod: testPod("p", requests("example.com/a", "1"))},
		{name: "extended resource gone", node: testNode("n", allocatable("example.com/a", "1")), on: []*corev1.Pod{testPod("o", onNode("n"), requests("example.com/a", "1"))}, pod: testPod("p", requests("example.com/a", "1")), want: "Insufficient example.com/a"},
		{name: "init container is the largest", node: testNode("n"), pod: testPod("p", requests("cpu", "1"), func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: quantities("cpu", "5")}}}
		}), want: "Insufficient cpu", final: true},
		{name: "sidecar and overhead count", node: testNode("n"), pod: testPod("p", requests("cpu", "2"), func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{RestartPolicy: &always, Resources: corev1.ResourceRequirements{Requests: quantities("cpu", "1")}}}
			p.Spec.Overhead = quantities("cpu", "1001m")
		}), want: "Insufficient cpu", final: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := snapshotOf([]*corev1.Node{tt.node}, tt.on...).Get(tt.node.Name)
			r := filter(NewPodInfo(tt.pod), n)
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
