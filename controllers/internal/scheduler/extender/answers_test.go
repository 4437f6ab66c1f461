package extender

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func three() []*framework.NodeInfo { return framework.SnapshotOf(st.Nodes(3), nil).Nodes() }

func TestExcluded(t *testing.T) {
	type result = extenderv1.ExtenderFilterResult
	names := func(all ...string) *[]string { return &all }
	list := func(names ...string) *corev1.NodeList {
		l := &corev1.NodeList{}
		for _, name := range names {
			l.Items = append(l.Items, *st.Node(name))
		}
		return l
	}
	tests := []struct {
		name   string
		cached bool
		answer result
		want   []Exclusion
		fails  string
	}{
		{name: "all names", cached: true, answer: result{NodeNames: names("node-2", "node-1", "node-0")}},
		{name: "all nodes", answer: result{Nodes: list("node-0", "node-1", "node-2")}},
		{name: "nodes of one that caches", cached: true, answer: result{Nodes: list("node-0", "node-1", "node-2")}},
		{
			name: "with messages", cached: true, want: []Exclusion{{"node-0", "no licence", false}, {"node-2", "old", true}},
			answer: result{NodeNames: names("node-1"), FailedNodes: extenderv1.FailedNodesMap{"node-0": "no licence"}, FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{"node-2": "old"}},
		},
		{
			name: "in both maps", want: []Exclusion{{"node-2", "old", true}},
			answer: result{Nodes: list("node-0", "node-1"), FailedNodes: extenderv1.FailedNodesMap{"node-2": "full"}, FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{"node-2": "old"}},
		},
		{name: "without messages", answer: result{Nodes: list("node-0", "node-1")}, want: []Exclusion{{"node-2", "", true}}},
		{name: "names of one that does not cache", answer: result{NodeNames: names("node-0")}, want: []Exclusion{{"node-0", "", true}, {"node-1", "", true}, {"node-2", "", true}}},
		{name: "kept and failed", answer: result{Nodes: list("node-0", "node-1", "node-2"), FailedNodes: extenderv1.FailedNodesMap{"node-2": "full", "gone": "x"}}},
		{name: "unknown name", cached: true, answer: result{NodeNames: names("gone")}, fails: `extender "e" claims a filtered node "gone" which is not found in the input node list`},
		{name: "unknown node", answer: result{Nodes: list("gone")}, fails: `extender "e" claims a filtered node "gone" which is not found in the input node list`},
		{name: "error", answer: result{Error: "down", Nodes: list("node-0")}, fails: "down"},
		{
			name: "long message", answer: result{Nodes: list("node-0", "node-1"), FailedNodes: extenderv1.FailedNodesMap{"node-2": strings.Repeat("x", 9999)}},
			want: []Exclusion{{"node-2", strings.Repeat("x", maxMessage) + " ...", false}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := excluded("e", tt.cached, three(), &tt.answer)
			if tt.fails != "" {
				if err == nil || err.Error() != tt.fails {
					t.Errorf("error %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("excluded %+v, error %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestAddScores(t *testing.T) {
	total := []int64{1, 2, 3}
	addScores(total, three(), extenderv1.HostPriorityList{{Host: "node-2", Score: 10}, {Host: "gone", Score: 10}, {Host: "node-0", Score: 3}}, 2)
	if want := []int64{1 + 60, 2, 3 + 200}; !slices.Equal(total, want) {
		t.Errorf("scores %v, want %v", total, want)
	}
}

func TestPreemptions(t *testing.T) {
	snapshot := framework.SnapshotOf(st.Nodes(2), []*corev1.Pod{st.Pod("a", st.OnNode("node-0")), st.Pod("b", st.OnNode("node-0")), st.Pod("c", st.OnNode("node-1"))})
	uid := func(node string, i int) string { return string(snapshot.Get(node).Pods[i].Pod.UID) }
	of := func(uids ...string) *extenderv1.MetaVictims {
		v := &extenderv1.MetaVictims{NumPDBViolations: 1}
		for _, u := range uids {
			v.Pods = append(v.Pods, &extenderv1.MetaPod{UID: u})
		}
		return v
	}
	tests := []struct {
		name      string
		ignorable bool
		answer    map[string]*extenderv1.MetaVictims
		want      string
		fails     string
	}{
		{name: "none"},
		{name: "sorted by node", answer: map[string]*extenderv1.MetaVictims{"node-1": of(uid("node-1", 0)), "node-0": of(uid("node-0", 1), uid("node-0", 0))}, want: "node-0:b,a, node-1:c, "},
		{name: "no victims", answer: map[string]*extenderv1.MetaVictims{"node-1": of()}, fails: `expected at least one victim pod on node "node-1"`},
		{name: "null", answer: map[string]*extenderv1.MetaVictims{"node-1": nil}, fails: `expected at least one victim pod on node "node-1"`},
		{name: "no victims, ignorable", ignorable: true, answer: map[string]*extenderv1.MetaVictims{"node-1": of(), "node-0": of(uid("node-0", 0))}, want: "node-0:a, "},
		{name: "unknown node", answer: map[string]*extenderv1.MetaVictims{"gone": of("x")}, fails: `extender "e" claims to preempt pods on node "gone", which is not found`},
		{name: "pod of another node", answer: map[string]*extenderv1.MetaVictims{"node-1": of("x")}, fails: `extender "e" claims to preempt pod (UID: x) on node "node-1", but the pod is not found on that node`},
		{name: "null pod", answer: map[string]*extenderv1.MetaVictims{"node-1": {Pods: []*extenderv1.MetaPod{nil}}}, fails: `extender "e" claims to preempt pod (UID: ) on node "node-1", but the pod is not found on that node`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, err := preemptions("e", tt.ignorable, &extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: tt.answer}, snapshot)
			got := ""
			for _, p := range all {
				got += p.Node + ":"
				for _, v := range p.Victims {
					got += v.Pod.Name + ","
				}
				got += " "
			}
			switch {
			case tt.fails != "":
				if err == nil || err.Error() != tt.fails {
					t.Errorf("error %v, want %q", err, tt.fails)
				}
			case err != nil || got != tt.want:
				t.Errorf("candidates %q, error %v, want %q", got, err, tt.want)
			}
		})
	}
}
