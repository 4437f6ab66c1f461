package plugins

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func namespacesOfTest() map[string]labels.Set {
	return map[string]labels.Set{"default": {"team": "a"}, "x": {"team": "b"}, "y": {"team": "b"}}
}

func TestPodAffinity(t *testing.T) {
	const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname
	web, db := st.PodLabel("app", "web"), st.PodLabel("app", "db")
	tests := []struct {
		name string
		on   []*corev1.Pod
		pod  *corev1.Pod
		want string // of a1 a2 b1 b2, and x without a zone
	}{
		{name: "near, in the zone", on: st.WebOn("a1"), pod: st.Pod("p", st.Requiring(st.Near(zone, "web"))), want: "[a1 a2]"},
		{name: "near, on the node", on: st.WebOn("a1"), pod: st.Pod("p", st.Requiring(st.Near(host, "web"))), want: "[a1]"},
		{name: "no pod to be near", pod: st.Pod("p", st.Requiring(st.Near(zone, "web"))), want: "[]"},
		{name: "the first of its kind", pod: st.Pod("p", web, st.Requiring(st.Near(zone, "web"))), want: "[a1 a2 b1 b2]"},
		{name: "the second of its kind", on: st.WebOn("b2"), pod: st.Pod("p", web, st.Requiring(st.Near(zone, "web"))), want: "[b1 b2]"},
		{
			name: "pods that match all terms", on: append(st.WebOn("a1"), st.Pod("x", st.OnNode("b1"), web, st.PodLabel("tier", "1"))), want: "[b1]",
			pod: st.Pod("p", st.Requiring(st.Near(zone, "web"), st.Near(host, "web", func(t *corev1.PodAffinityTerm) {
				t.LabelSelector.MatchLabels = map[string]string{"tier": "1"}
			}))),
		},
		{name: "another namespace", on: st.WebOn("a1"), pod: st.Pod("p", st.InNamespace("x"), st.Requiring(st.Near(zone, "web"))), want: "[]"},
		{name: "a named namespace", on: st.WebOn("a1"), pod: st.Pod("p", st.InNamespace("x"), st.Requiring(st.Near(zone, "web", st.InNamespaces("default")))), want: "[a1 a2]"},
		{name: "a selected namespace", on: st.WebOn("a1"), pod: st.Pod("p", st.InNamespace("x"), st.Requiring(st.Near(zone, "web", st.InNamespacesLabelled("a")))), want: "[a1 a2]"},
		{name: "a namespace not selected", on: st.WebOn("a1"), pod: st.Pod("p", st.Requiring(st.Near(zone, "web", st.InNamespacesLabelled("b")))), want: "[]"},
		{name: "any namespace", on: st.WebOn("a1"), pod: st.Pod("p", st.InNamespace("x"), st.Requiring(st.Near(zone, "web", st.InNamespacesLabelled("")))), want: "[a1 a2]"},
		{name: "far, on another node", on: st.WebOn("a1"), pod: st.Pod("p", st.Avoiding(st.Near(host, "web"))), want: "[a2 b1 b2 x]"},
		{name: "far, in another zone or none", on: st.WebOn("a1"), pod: st.Pod("p", st.Avoiding(st.Near(zone, "web"))), want: "[b1 b2 x]"},
		{name: "far, by either term", on: append(st.WebOn("a1"), st.Pod("d", st.OnNode("b1"), db)), pod: st.Pod("p", st.Avoiding(st.Near(zone, "web"), st.Near(host, "db"))), want: "[b2 x]"},
		{name: "avoided", on: []*corev1.Pod{st.Pod("d", st.OnNode("a1"), db, st.Avoiding(st.Near(zone, "web")))}, pod: st.Pod("p", web), want: "[b1 b2 x]"},
		{name: "not meant", on: []*corev1.Pod{st.Pod("d", st.OnNode("a1"), db, st.Avoiding(st.Near(zone, "web")))}, pod: st.Pod("p", db), want: "[a1 a2 b1 b2 x]"},
		{
			name: "avoided by a selected namespace", want: "[b1 b2 x]",
			on: []*corev1.Pod{st.Pod("d", st.OnNode("a1"), db, st.Avoiding(st.Near(zone, "web", st.InNamespacesLabelled("b"))))}, pod: st.Pod("p", web, st.InNamespace("y")),
		},
		{
			name: "avoided by both ways", on: []*corev1.Pod{
				st.Pod("d", st.OnNode("a1"), db, st.Avoiding(st.Near(zone, "web"))), st.Pod("e", st.OnNode("b1"), db, st.Avoiding(st.Near(host, "web"))),
			}, pod: st.Pod("p", web), want: "[b2 x]",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nodes := append(st.Zoned(2, 2), st.Node("x"))
			in := Input{Pod: framework.NewPodInfo(tt.pod), Snapshot: framework.SnapshotOf(nodes, tt.on), Namespaces: namespacesOfTest}
			if got := fmt.Sprint(fittingOf(in)); got != tt.want {
				t.Errorf("may be on %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPodAffinityScores(t *testing.T) {
	const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname
	web := st.PodLabel("app", "web")
	tests := []struct {
		name string
		on   []*corev1.Pod
		pod  *corev1.Pod
		want []int64 // of a1 b1 a2 b2, without the weight
	}{
		{name: "prefers to be near", on: st.WebOn("a1"), pod: st.Pod("p", st.Preferring(10, st.Near(zone, "web"))), want: []int64{100, 0, 100, 0}},
		{name: "prefers to be far", on: st.WebOn("a1"), pod: st.Pod("p", st.Preferring(-10, st.Near(zone, "web"))), want: []int64{0, 100, 0, 100}},
		{
			// a1: 30+10, a2: 30, b1: 10.
			name: "weights", on: st.WebOn("a1", "b1"), pod: st.Pod("p", st.Preferring(30, st.Near(zone, "web", st.InNamespaces("default"))), st.Preferring(10, st.Near(host, "web")), st.Preferring(-30, st.Near(zone, "web"))),
			want: []int64{100, 100, 0, 0},
		},
		{name: "others prefer it near", on: []*corev1.Pod{st.Pod("d", st.OnNode("a1"), st.Preferring(7, st.Near(host, "web")))}, pod: st.Pod("p", web), want: []int64{100, 0, 0, 0}},
		{name: "others prefer it far", on: []*corev1.Pod{st.Pod("d", st.OnNode("a1"), st.Preferring(-7, st.Near(host, "web")))}, pod: st.Pod("p", web), want: []int64{0, 100, 100, 100}},
		{name: "others require it near", on: []*corev1.Pod{st.Pod("d", st.OnNode("b1"), st.Requiring(st.Near(zone, "web")))}, pod: st.Pod("p", web), want: []int64{0, 100, 0, 100}},
		{name: "others do not mean it", on: []*corev1.Pod{st.Pod("d", st.OnNode("b1"), st.Requiring(st.Near(zone, "web")))}, pod: st.Pod("p"), want: []int64{0, 0, 0, 0}},
		{
			// a1 1, b1 3, a2 0, b2 2 by host.
			name: "in proportion", on: st.WebOn("a1", "b1", "b1", "b1", "b2", "b2"), pod: st.Pod("p", st.Preferring(1, st.Near(host, "web"))), want: []int64{33, 100, 0, 66},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Pod: framework.NewPodInfo(tt.pod), Snapshot: framework.SnapshotOf(st.Zoned(2, 2), tt.on), Namespaces: namespacesOfTest}
			in.prepare()
			got, normalize := scoreAffinity(&in, indexes(in.Snapshot))
			if got == nil {
				got = make([]int64, in.Snapshot.Len())
			} else {
				normalize(got)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("scores %v, want %v", got, tt.want)
			}
		})
	}
}

func TestRulesInMessages(t *testing.T) {
	const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname
	web := st.PodLabel("app", "web")
	x := st.Node("x")
	tests := []struct {
		name string
		on   []*corev1.Pod
		pod  *corev1.Pod
		want string
	}{
		{
			"spread", st.WebOn("a1"), st.Pod("p", web, st.SpreadBy(zone, 1), st.NodeSelector("disk", "ssd")),
			"0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
		},
		{
			"skew and missing label", append(st.WebOn("a1"), st.Pod("b", st.OnNode("b1"), st.Requests("cpu", "4"))), st.Pod("p", web, st.SpreadBy(zone, 1), st.Requests("cpu", "1")),
			"0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints, 1 node(s) didn't match pod topology spread constraints (missing required label). preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.",
		},
		{
			"affinity", nil, st.Pod("p", st.Requiring(st.Near(zone, "web"))),
			"0/3 nodes are available: 3 node(s) didn't match pod affinity rules. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
		},
		{
			"anti-affinity", append(st.WebOn("a1", "b1"), st.Pod("d", st.OnNode("x"), st.Avoiding(st.Near(host, "web")))), st.Pod("p", web, st.Avoiding(st.Near(host, "web"))),
			"0/3 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules, 2 node(s) didn't match pod anti-affinity rules. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Pod: framework.NewPodInfo(tt.pod), Snapshot: framework.SnapshotOf(append(st.Zoned(1, 1), x), tt.on), Pick: first}
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

// Preemption deletes the pods that are in the way, and no others.
func TestPreemptByRules(t *testing.T) {
	const host = corev1.LabelHostname
	web := st.PodLabel("app", "web")
	tests := []struct {
		name          string
		on            []*corev1.Pod
		pod           *corev1.Pod
		node, victims string
	}{
		{
			name: "pods that it avoids", pod: st.Pod("p", st.Priority(5), st.Avoiding(st.Near(host, "web"))), node: "node-0", victims: "x ",
			on: []*corev1.Pod{st.Pod("x", st.OnNode("node-0"), web), st.Pod("y", st.OnNode("node-0")), st.Pod("z", st.OnNode("node-1"), web, st.Priority(9))},
		},
		{
			name: "pods that avoid it", pod: st.Pod("p", st.Priority(5), web), node: "node-0", victims: "x ",
			on: []*corev1.Pod{st.Pod("y", st.OnNode("node-0")), st.Pod("x", st.OnNode("node-0"), st.Avoiding(st.Near(host, "web"))), st.Pod("z", st.OnNode("node-1"), st.Priority(9), st.Avoiding(st.Near(host, "web")))},
		},
		{
			name: "one too many of a kind", pod: st.Pod("p", st.Priority(5), web, st.Requests("cpu", "1"), st.SpreadBy(host, 1)), node: "node-0", victims: "b ",
			on: []*corev1.Pod{
				st.Pod("a", st.OnNode("node-0"), web, st.Started(1)), st.Pod("b", st.OnNode("node-0"), web, st.Started(2)),
				st.Pod("c", st.OnNode("node-1"), web, st.Priority(9), st.Requests("cpu", "4")),
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Pod: framework.NewPodInfo(tt.pod), Snapshot: framework.SnapshotOf(st.Nodes(2), tt.on), Pick: first}
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
	web := st.PodLabel("app", "web")
	nominated := map[string][]*framework.PodInfo{"node-0": {framework.NewPodInfo(st.Pod("n", st.Priority(5), web, st.Avoiding(st.Near(corev1.LabelHostname, "db"))))}}
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"avoids it":  {st.Pod("p", st.Avoiding(st.Near(corev1.LabelHostname, "web"))), "[node-1]"},
		"is avoided": {st.Pod("p", st.PodLabel("app", "db"), st.Avoiding(st.Near(corev1.LabelHostname, "other"))), "[node-1]"},
		// kube-scheduler's PreFilter skips the plugin: neither the pod nor those on nodes have a rule.
		"is avoided without rules": {st.Pod("p", st.PodLabel("app", "db")), "[node-0 node-1]"},
		"needs it":                 {st.Pod("p", st.Requiring(st.Near(corev1.LabelHostname, "web"))), "[]"},
		"takes no notice":          {st.Pod("p"), "[node-0 node-1]"},
	} {
		in := Input{Pod: framework.NewPodInfo(tt.pod), Snapshot: framework.SnapshotOf(st.Nodes(2), nil), Nominated: nominated}
		if got := fmt.Sprint(fittingOf(in)); got != tt.want {
			t.Errorf("a pod that %s may be on %s, want %s", name, got, tt.want)
		}
	}
}

// IgnorePreferred skips the scores of pods without preferred terms, also those by required terms of others.
func TestIgnorePreferred(t *testing.T) {
	db := st.PodLabel("app", "db")
	on := []*corev1.Pod{
		st.Pod("o", st.OnNode("node-0"), st.Requiring(st.Near(corev1.LabelHostname, "db"))),
		st.Pod("q", st.OnNode("node-1"), st.Preferring(5, st.Near(corev1.LabelHostname, "db"))),
	}
	for _, tt := range []struct {
		name   string
		ignore bool
		pod    *corev1.Pod
		scored bool
	}{
		{"by default", false, st.Pod("p", db), true},
		{"no terms", true, st.Pod("p", db), false},
		{"a required term", true, st.Pod("p", db, st.Requiring(st.Near(corev1.LabelHostname, "db"))), false},
		{"a preferred term", true, st.Pod("p", db, st.Preferring(1, st.Near(corev1.LabelHostname, "web"))), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := DefaultSpec()
			spec.IgnorePreferred, spec.HardAffinityWeight = tt.ignore, 3
			profile, err := NewProfile(spec)
			if err != nil {
				t.Fatal(err)
			}
			in := Input{Pod: framework.NewPodInfo(tt.pod), Snapshot: framework.SnapshotOf(st.Nodes(2), on), Profile: profile, Trace: &Trace{}, Pick: first}
			Decide(in)
			scored := slices.ContainsFunc(in.Trace.Scores, func(s PluginScores) bool { return s.Plugin == InterPodAffinity })
			if scored != tt.scored {
				t.Errorf("scored %v, want %v", scored, tt.scored)
			}
		})
	}
}
