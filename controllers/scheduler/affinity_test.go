package scheduler

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

type termOption func(*corev1.PodAffinityTerm)

// near is a term over the pods with the label app=app.
func near(topologyKey, app string, options ...termOption) corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: topologyKey, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
	for _, o := range options {
		o(&t)
	}
	return t
}

func inNamespaces(names ...string) termOption {
	return func(t *corev1.PodAffinityTerm) { t.Namespaces = names }
}

func inNamespacesLabelled(team string) termOption {
	return func(t *corev1.PodAffinityTerm) {
		t.NamespaceSelector = &metav1.LabelSelector{}
		if team != "" {
			t.NamespaceSelector.MatchLabels = map[string]string{"team": team}
		}
	}
}

func affinityOf(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	if p.Spec.Affinity.PodAffinity == nil {
		p.Spec.Affinity.PodAffinity, p.Spec.Affinity.PodAntiAffinity = &corev1.PodAffinity{}, &corev1.PodAntiAffinity{}
	}
	return p.Spec.Affinity
}

func requiring(terms ...corev1.PodAffinityTerm) podOption {
	return func(p *corev1.Pod) {
		affinityOf(p).PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = terms
	}
}

func avoiding(terms ...corev1.PodAffinityTerm) podOption {
	return func(p *corev1.Pod) {
		affinityOf(p).PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = terms
	}
}

// preferring wants to be near the term's pods, or far from them if weight is negative.
func preferring(weight int32, term corev1.PodAffinityTerm) podOption {
	return func(p *corev1.Pod) {
		a := affinityOf(p)
		if weight < 0 {
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.WeightedPodAffinityTerm{Weight: -weight, PodAffinityTerm: term})
			return
		}
		a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term})
	}
}

func inNamespace(name string) podOption { return func(p *corev1.Pod) { p.Namespace = name } }

func namespacesOfTest() map[string]labels.Set {
	return map[string]labels.Set{"default": {"team": "a"}, "x": {"team": "b"}, "y": {"team": "b"}}
}

func TestPodAffinity(t *testing.T) {
	const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname
	web, db := podLabel("app", "web"), podLabel("app", "db")
	tests := []struct {
		name string
		on   []*corev1.Pod
		pod  *corev1.Pod
		want string // of a1 a2 b1 b2, and x without a zone
	}{
		{name: "near, in the zone", on: webOn("a1"), pod: testPod("p", requiring(near(zone, "web"))), want: "[a1 a2]"},
		{name: "near, on the node", on: webOn("a1"), pod: testPod("p", requiring(near(host, "web"))), want: "[a1]"},
		{name: "nobody to be near", pod: testPod("p", requiring(near(zone, "web"))), want: "[]"},
		{name: "the first of its kind", pod: testPod("p", web, requiring(near(zone, "web"))), want: "[a1 a2 b1 b2]"},
		{name: "the second of its kind", on: webOn("b2"), pod: testPod("p", web, requiring(near(zone, "web"))), want: "[b1 b2]"},
		{
			name: "pods that match all terms", on: append(webOn("a1"), testPod("x", onNode("b1"), web, podLabel("tier", "1"))), want: "[b1]",
			pod: testPod("p", requiring(near(zone, "web"), near(host, "web", func(t *corev1.PodAffinityTerm) {
				t.LabelSelector.MatchLabels = map[string]string{"tier": "1"}
			}))),
		},
		{name: "another namespace", on: webOn("a1"), pod: testPod("p", inNamespace("x"), requiring(near(zone, "web"))), want: "[]"},
		{name: "a named namespace", on: webOn("a1"), pod: testPod("p", inNamespace("x"), requiring(near(zone, "web", inNamespaces("default")))), want: "[a1 a2]"},
		{name: "a selected namespace", on: webOn("a1"), pod: testPod("p", inNamespace("x"), requiring(near(zone, "web", inNamespacesLabelled("a")))), want: "[a1 a2]"},
		{name: "a namespace not selected", on: webOn("a1"), pod: testPod("p", requiring(near(zone, "web", inNamespacesLabelled("b")))), want: "[]"},
		{name: "any namespace", on: webOn("a1"), pod: testPod("p", inNamespace("x"), requiring(near(zone, "web", inNamespacesLabelled("")))), want: "[a1 a2]"},
		{name: "far, on another node", on: webOn("a1"), pod: testPod("p", avoiding(near(host, "web"))), want: "[a2 b1 b2 x]"},
		{name: "far, in another zone or none", on: webOn("a1"), pod: testPod("p", avoiding(near(zone, "web"))), want: "[b1 b2 x]"},
		{name: "far, by either term", on: append(webOn("a1"), testPod("d", onNode("b1"), db)), pod: testPod("p", avoiding(near(zone, "web"), near(host, "db"))), want: "[b2 x]"},
		{name: "avoided", on: []*corev1.Pod{testPod("d", onNode("a1"), db, avoiding(near(zone, "web")))}, pod: testPod("p", web), want: "[b1 b2 x]"},
		{name: "not meant", on: []*corev1.Pod{testPod("d", onNode("a1"), db, avoiding(near(zone, "web")))}, pod: testPod("p", db), want: "[a1 a2 b1 b2 x]"},
		{
			name: "avoided by a selected namespace", want: "[b1 b2 x]",
			on: []*corev1.Pod{testPod("d", onNode("a1"), db, avoiding(near(zone, "web", inNamespacesLabelled("b"))))}, pod: testPod("p", web, inNamespace("y")),
		},
		{
			name: "avoided by both ways", on: []*corev1.Pod{
				testPod("d", onNode("a1"), db, avoiding(near(zone, "web"))), testPod("e", onNode("b1"), db, avoiding(near(host, "web"))),
			}, pod: testPod("p", web), want: "[b2 x]",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nodes := append(zoned(2, 2), testNode("x"))
			in := Input{Pod: NewPodInfo(tt.pod), Snapshot: snapshotOf(nodes, tt.on...), Namespaces: namespacesOfTest}
			if got := fmt.Sprint(fittingOf(in)); got != tt.want {
				t.Errorf("may be on %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPodAffinityScores(t *testing.T) {
	const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname
	web := podLabel("app", "web")
	tests := []struct {
		name string
		on   []*corev1.Pod
		pod  *corev1.Pod
		want []int64 // of a1 b1 a2 b2, without the weight
	}{
		{name: "prefers to be near", on: webOn("a1"), pod: testPod("p", preferring(10, near(zone, "web"))), want: []int64{100, 0, 100, 0}},
		{name: "prefers to be far", on: webOn("a1"), pod: testPod("p", preferring(-10, near(zone, "web"))), want: []int64{0, 100, 0, 100}},
		{
			// a1: 30+10, a2: 30, b1: 10.
			name: "weights", on: webOn("a1", "b1"), pod: testPod("p", preferring(30, near(zone, "web", inNamespaces("default"))), preferring(10, near(host, "web")), preferring(-30, near(zone, "web"))),
			want: []int64{100, 100, 0, 0},
		},
		{name: "others prefer it near", on: []*corev1.Pod{testPod("d", onNode("a1"), preferring(7, near(host, "web")))}, pod: testPod("p", web), want: []int64{100, 0, 0, 0}},
		{name: "others prefer it far", on: []*corev1.Pod{testPod("d", onNode("a1"), preferring(-7, near(host, "web")))}, pod: testPod("p", web), want: []int64{0, 100, 100, 100}},
		{name: "others require it near", on: []*corev1.Pod{testPod("d", onNode("b1"), requiring(near(zone, "web")))}, pod: testPod("p", web), want: []int64{0, 100, 0, 100}},
		{name: "others do not mean it", on: []*corev1.Pod{testPod("d", onNode("b1"), requiring(near(zone, "web")))}, pod: testPod("p"), want: []int64{0, 0, 0, 0}},
		{
			// a1 1, b1 3, a2 0, b2 2 by host.
			name: "in proportion", on: webOn("a1", "b1", "b1", "b1", "b2", "b2"), pod: testPod("p", preferring(1, near(host, "web"))), want: []int64{33, 100, 0, 66},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Pod: NewPodInfo(tt.pod), Snapshot: snapshotOf(zoned(2, 2), tt.on...), Namespaces: namespacesOfTest}
			got := make([]int64, in.Snapshot.Len())
			in.addAffinity(got, places(in.Snapshot))
			for i := range got {
				got[i] /= weightAffinity
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("scores %v, want %v", got, tt.want)
			}
		})
	}
}

func TestRulesInMessages(t *testing.T) {
	const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname
	web := podLabel("app", "web")
	x := testNode("x")
	tests := []struct {
		name string
		on   []*corev1.Pod
		pod  *corev1.Pod
		want string
	}{
		{
			"spread", webOn("a1"), testPod("p", web, spreadBy(zone, 1), selector("disk", "ssd")),
			"0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
		},
		{
			"skew and missing label", append(webOn("a1"), testPod("b", onNode("b1"), requests("cpu", "4"))), testPod("p", web, spreadBy(zone, 1), requests("cpu", "1")),
			"0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints, 1 node(s) didn't match pod topology spread constraints (missing required label). preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.",
		},
		{
			"affinity", nil, testPod("p", requiring(near(zone, "web"))),
			"0/3 nodes are available: 3 node(s) didn't match pod affinity rules. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
		},
		{
			"anti-affinity", append(webOn("a1", "b1"), testPod("d", onNode("x"), avoiding(near(host, "web")))), testPod("p", web, avoiding(near(host, "web"))),
			"0/3 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules, 2 node(s) didn't match pod anti-affinity rules. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Pod: NewPodInfo(tt.pod), Snapshot: snapshotOf(append(zoned(1, 1), x), tt.on...), Pick: first}
			d := Decide(in)
			if d.Node != "" {
				t.Fatalf("chose %s", d.Node)
			}
			d.Diagnosis.Preemption = Preempt(in, d.Diagnosis).Message
			if got := d.Diagnosis.Message(); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Preemption deletes those who stand in the way, and no others.
func TestPreemptByRules(t *testing.T) {
	const host = corev1.LabelHostname
	web := podLabel("app", "web")
	tests := []struct {
		name          string
		on            []*corev1.Pod
		pod           *corev1.Pod
		node, victims string
	}{
		{
			name: "who it avoids", pod: testPod("p", priority(5), avoiding(near(host, "web"))), node: "node-0", victims: "x ",
			on: []*corev1.Pod{testPod("x", onNode("node-0"), web), testPod("y", onNode("node-0")), testPod("z", onNode("node-1"), web, priority(9))},
		},
		{
			name: "who avoids it", pod: testPod("p", priority(5), web), node: "node-0", victims: "x ",
			on: []*corev1.Pod{testPod("y", onNode("node-0")), testPod("x", onNode("node-0"), avoiding(near(host, "web"))), testPod("z", onNode("node-1"), priority(9), avoiding(near(host, "web")))},
		},
		{
			name: "one too many of a kind", pod: testPod("p", priority(5), web, requests("cpu", "1"), spreadBy(host, 1)), node: "node-0", victims: "b ",
			on: []*corev1.Pod{
				testPod("a", onNode("node-0"), web, started(1)), testPod("b", onNode("node-0"), web, started(2)),
				testPod("c", onNode("node-1"), web, priority(9), requests("cpu", "4")),
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Pod: NewPodInfo(tt.pod), Snapshot: snapshotOf(testNodes(2), tt.on...), Pick: first}
			d := Decide(in)
			if d.Node != "" {
				t.Fatalf("fits on %s without", d.Node)
			}
			p := Preempt(in, d.Diagnosis)
			var victims string
			for _, v := range p.Victims {
				victims += v.Pod.Name + " "
			}
			if p.Node != tt.node || victims != tt.victims {
				t.Errorf("frees %q of %q, want %q of %q", p.Node, victims, tt.node, tt.victims)
			}
		})
	}
}

// A pod that is to come to a node is kept clear of, but not relied upon.
func TestRulesAndNominated(t *testing.T) {
	web := podLabel("app", "web")
	nominated := map[string][]*PodInfo{"node-0": {NewPodInfo(testPod("n", priority(5), web, avoiding(near(corev1.LabelHostname, "db"))))}}
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"avoids it":       {testPod("p", avoiding(near(corev1.LabelHostname, "web"))), "[node-1]"},
		"is avoided":      {testPod("p", podLabel("app", "db")), "[node-1]"},
		"needs it":        {testPod("p", requiring(near(corev1.LabelHostname, "web"))), "[]"},
		"takes no notice": {testPod("p"), "[node-0 node-1]"},
	} {
		in := Input{Pod: NewPodInfo(tt.pod), Snapshot: snapshotOf(testNodes(2)), Nominated: nominated}
		if got := fmt.Sprint(fittingOf(in)); got != tt.want {
			t.Errorf("who %s may be on %s, want %s", name, got, tt.want)
		}
	}
}
