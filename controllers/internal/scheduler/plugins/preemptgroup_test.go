package plugins

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// groupsOf returns PodGroups of the namespace "default".
func groupsOf(all map[string]framework.Group) framework.Groups {
	return func(key types.NamespacedName) (framework.Group, bool) {
		g, ok := all[key.Name]
		return g, ok && key.Namespace == "default"
	}
}

// placeAll finds nodes for pods one after the other, as the scheduler does for a PodGroup; nil: one of them has none.
func placeAll(snapshot *framework.Snapshot, pods []*corev1.Pod, nominated map[string][]*framework.PodInfo) []Member {
	w := snapshot.WhatIf()
	defer w.Undo()
	var members []Member
	for _, pod := range pods {
		in := Input{Pod: framework.NewPodInfo(pod), Snapshot: snapshot, Nominated: nominated, Pick: first}
		d := Decide(in)
		if d.Node == "" {
			return nil
		}
		index, _ := snapshot.Index(d.Node)
		w.Add(index, in.Pod)
		members = append(members, Member{In: in, Node: d.Node})
	}
	return members
}

// preemptFor searches victims for pods of a PodGroup, of the priority of the first one.
func preemptFor(snapshot *framework.Snapshot, groups framework.Groups, pods []*corev1.Pod, budgets ...*policyv1.PodDisruptionBudget) (p GroupPreemption, found bool) {
	search := SearchVictims(snapshot, groups, framework.NewPodInfo(pods[0]).Priority)
	defer search.Undo()
	if search.Empty() {
		return GroupPreemption{}, false
	}
	members := placeAll(snapshot, pods, nil)
	if members == nil {
		return GroupPreemption{}, false
	}
	return search.Spare(members, budgets), true
}

func namesOf(pods []*framework.PodInfo) string {
	var all []string
	for _, p := range pods {
		all = append(all, p.Pod.Name)
	}
	return strings.Join(all, " ")
}

func TestPreemptForGroup(t *testing.T) {
	on := func(node, name, cpu string, options ...st.PodOption) *corev1.Pod {
		return st.Pod(name, append(options, st.OnNode(node), st.Requests("cpu", cpu))...)
	}
	group := func(n int, cpu string, options ...st.PodOption) (pods []*corev1.Pod) {
		for i := range n {
			pods = append(pods, st.Pod(fmt.Sprintf("g%d", i), append(options, st.Requests("cpu", cpu), st.Priority(10), st.InGroup("g"))...))
		}
		return pods
	}
	one := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
	one.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "covered"}}
	covered := st.PodLabel("app", "covered")
	avoiding := st.Avoiding(st.Near(corev1.LabelHostname, "web"))
	tests := []struct {
		name       string
		on         []*corev1.Pod
		groups     map[string]framework.Group
		pods       []*corev1.Pod
		budgets    []*policyv1.PodDisruptionBudget
		none       bool
		victims    string
		violations int
	}{
		{
			name: "the least important on each node", pods: group(2, "2"), victims: "b d",
			on: []*corev1.Pod{on("node-0", "a", "2", st.Priority(3)), on("node-0", "b", "2", st.Priority(2)), on("node-1", "c", "2", st.Priority(3)), on("node-1", "d", "2", st.Priority(1))},
		},
		{
			name: "nothing, if the group would not fit", pods: group(3, "4"), none: true,
			on: []*corev1.Pod{on("node-0", "a", "2"), on("node-1", "b", "2")},
		},
		{
			name: "nothing of the same priority", pods: group(1, "4"), none: true,
			on: []*corev1.Pod{on("node-0", "a", "2", st.Priority(10)), on("node-1", "b", "2", st.Priority(11))},
		},
		{
			name: "a group as a whole", pods: group(1, "2"), victims: "b a", groups: map[string]framework.Group{"v": {Whole: true}},
			on: []*corev1.Pod{on("node-0", "x", "2", st.Priority(10)), on("node-0", "b", "2", st.InGroup("v")), on("node-1", "y", "2", st.Priority(10)), on("node-1", "a", "2", st.InGroup("v"))},
		},
		{
			name: "a group pod by pod", pods: group(1, "2"), victims: "b", groups: map[string]framework.Group{"v": {}},
			on: []*corev1.Pod{on("node-0", "x", "2", st.Priority(10)), on("node-0", "b", "2", st.InGroup("v")), on("node-1", "y", "2", st.Priority(10)), on("node-1", "a", "2", st.InGroup("v"))},
		},
		{
			name: "single pods rather than those of groups", pods: group(1, "2"), victims: "a", groups: map[string]framework.Group{"v": {}},
			on: []*corev1.Pod{on("node-0", "a", "2", st.Started(1)), on("node-0", "b", "2", st.InGroup("v"), st.Started(2)), on("node-1", "x", "4", st.Priority(10))},
		},
		{
			name: "small groups rather than large ones", pods: group(1, "1"), victims: "c d", groups: map[string]framework.Group{"v": {Whole: true}, "w": {Whole: true}},
			on: []*corev1.Pod{
				on("node-0", "a", "1", st.InGroup("v")), on("node-0", "b", "1", st.InGroup("v")), on("node-1", "x", "4", st.Priority(10), st.InGroup("unknown")),
				on("node-0", "c", "1", st.InGroup("w")), on("node-0", "d", "1", st.InGroup("w")), on("node-1", "e", "0", st.InGroup("v")),
			},
		},
		{
			name: "not by the pods' priority, but by that of their group", pods: group(1, "4"), none: true, groups: map[string]framework.Group{"v": {Priority: 10}},
			on: []*corev1.Pod{on("node-0", "a", "4", st.InGroup("v")), on("node-1", "b", "4", st.InGroup("v"))},
		},
		{
			name: "pods without a violation", pods: group(1, "2"), victims: "b", budgets: []*policyv1.PodDisruptionBudget{one},
			on: []*corev1.Pod{on("node-0", "a", "2", covered), on("node-0", "b", "2", st.Priority(5)), on("node-1", "x", "4", st.Priority(10))},
		},
		{
			name: "a group of which a pod is covered after one that is not", pods: group(1, "2"), victims: "c", budgets: []*policyv1.PodDisruptionBudget{one}, groups: map[string]framework.Group{"v": {Whole: true}},
			on: []*corev1.Pod{on("node-0", "a", "2", st.InGroup("v")), on("node-1", "b", "1", st.InGroup("v"), covered), on("node-0", "c", "2", st.Priority(5)), on("node-1", "x", "3", st.Priority(10))},
		},
		{
			name: "violations, if there is no other way", pods: group(1, "4"), victims: "a b", violations: 2, budgets: []*policyv1.PodDisruptionBudget{one}, groups: map[string]framework.Group{"v": {Whole: true}},
			on: []*corev1.Pod{on("node-0", "a", "2", st.InGroup("v"), covered), on("node-1", "b", "2", st.InGroup("v"), covered), on("node-1", "x", "2", st.Priority(10))},
		},
		{
			name: "what members avoid on any node", pods: group(2, "1", st.PodLabel("app", "web"), avoiding), victims: "a b",
			on: []*corev1.Pod{on("node-0", "a", "1", st.PodLabel("app", "web")), on("node-1", "b", "1", st.PodLabel("app", "web")), on("node-1", "c", "1")},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			snapshot := framework.SnapshotOf(st.Nodes(2), tt.on)
			p, found := preemptFor(snapshot, groupsOf(tt.groups), tt.pods, tt.budgets...)
			if got := namesOf(p.Victims); found == tt.none || got != tt.victims || p.Violations != tt.violations {
				t.Errorf("found %t: %q, %d violations; want %q, %d", found, got, p.Violations, tt.victims, tt.violations)
			}
		})
	}
}

// TestPreemptGroupForPod checks the victims of a single pod where they are of PodGroups.
func TestPreemptGroupForPod(t *testing.T) {
	on := func(node, name, cpu string, options ...st.PodOption) *corev1.Pod {
		return st.Pod(name, append(options, st.OnNode(node), st.Requests("cpu", cpu))...)
	}
	whole := map[string]framework.Group{"v": {Whole: true}}
	tests := []struct {
		name    string
		on      []*corev1.Pod
		groups  map[string]framework.Group
		pod     *corev1.Pod
		node    string
		victims string
	}{
		{
			name: "the whole group, wherever it is", groups: whole, pod: st.Pod("p", st.Requests("cpu", "4"), st.Priority(10)), node: "node-0", victims: "a b",
			on: []*corev1.Pod{on("node-0", "a", "4", st.InGroup("v")), on("node-1", "b", "1", st.InGroup("v")), on("node-1", "x", "3", st.Priority(10))},
		},
		{
			name: "another node, whose victims are fewer", groups: whole, pod: st.Pod("p", st.Requests("cpu", "4"), st.Priority(10)), node: "node-1", victims: "c",
			on: []*corev1.Pod{on("node-0", "a", "2", st.InGroup("v")), on("node-0", "b", "2", st.InGroup("v")), on("node-1", "c", "4")},
		},
		{
			name: "the priority of the group", groups: map[string]framework.Group{"v": {Priority: 10}}, pod: st.Pod("p", st.Requests("cpu", "4"), st.Priority(10)), node: "node-1", victims: "b",
			on: []*corev1.Pod{on("node-0", "a", "4", st.InGroup("v")), on("node-1", "b", "4", st.Priority(9))},
		},
		{
			name: "what is avoided on another node of the zone", groups: whole,
			pod:  st.Pod("p", st.Requests("cpu", "4"), st.Priority(10), st.Avoiding(st.Near("everywhere", "web"))),
			node: "node-0", victims: "a b",
			on: []*corev1.Pod{on("node-0", "a", "1", st.InGroup("v")), on("node-1", "b", "1", st.InGroup("v"), st.PodLabel("app", "web")), on("node-1", "x", "3", st.Priority(10))},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			snapshot := framework.SnapshotOf(st.Nodes(2, st.NodeLabel("everywhere", "")), tt.on)
			in := Input{Pod: framework.NewPodInfo(tt.pod), Snapshot: snapshot, Groups: groupsOf(tt.groups), Pick: first}
			d := Decide(in)
			if d.Node != "" {
				t.Fatalf("fits on %s without", d.Node)
			}
			if p := Preempt(in, d.Diagnosis); p.Node != tt.node || namesOf(p.Victims) != tt.victims {
				t.Errorf("got %q %q, want %q %q", p.Node, namesOf(p.Victims), tt.node, tt.victims)
			}
		})
	}
}

// groupCase is a random cluster with PodGroups, and a group that may preempt.
type groupCase struct {
	nodes   []*corev1.Node
	on      []*corev1.Pod
	groups  map[string]framework.Group
	budgets []*policyv1.PodDisruptionBudget
	pods    []*corev1.Pod
}

func drawGroupCase(t *rapid.T) *groupCase {
	draw := func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }
	c := &groupCase{nodes: st.Nodes(1+draw(4, "nodes"), st.NodeLabel("zone", "z")), groups: map[string]framework.Group{}}
	for i, n := range c.nodes {
		n.Labels["zone"] = fmt.Sprint(i % 2)
	}
	for i := range 3 {
		c.groups[fmt.Sprint("v", i)] = framework.Group{Priority: int32(draw(4, "priority of a group")), Whole: draw(2, "whole") == 0}
	}
	ruled := draw(2, "rules") == 0
	options := func() []st.PodOption {
		all := []st.PodOption{st.Requests("cpu", fmt.Sprint(1+draw(2, "cpu")))}
		if draw(3, "label") == 0 {
			all = append(all, st.PodLabel("app", "web"))
		}
		if ruled && draw(4, "rule") == 0 {
			all = append(all, []st.PodOption{
				st.Avoiding(st.Near([]string{corev1.LabelHostname, "zone"}[draw(2, "key")], "web")), st.SpreadBy("zone", 1), st.HostPort("", 80),
			}[draw(3, "kind of rule")])
		}
		return all
	}
	free := map[string]int{}
	for i := range draw(12, "pods on nodes") {
		node := fmt.Sprint("node-", draw(len(c.nodes), "node"))
		pod := st.Pod(fmt.Sprint("p", i), append(options(), st.OnNode(node), st.Priority(int32(draw(4, "priority"))), st.Started(int64(draw(3, "start"))))...)
		if g := draw(5, "group"); g < 3 {
			st.InGroup(fmt.Sprint("v", g))(pod)
		}
		if free[node] += int(pod.Spec.Containers[0].Resources.Requests.Cpu().Value()); free[node] > 4 {
			continue
		}
		c.on = append(c.on, pod)
	}
	for i := range 1 + draw(4, "members") {
		c.pods = append(c.pods, st.Pod(fmt.Sprint("g", i), append(options(), st.Priority(3), st.InGroup("g"))...))
	}
	if draw(2, "budget") == 0 {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		b.Status.DisruptionsAllowed = int32(draw(3, "allowed"))
		c.budgets = append(c.budgets, b)
	}
	return c
}

// without returns a new snapshot of the case's cluster without some pods.
func (c *groupCase) without(victims map[string]bool) *framework.Snapshot {
	left := slices.DeleteFunc(slices.Clone(c.on), func(p *corev1.Pod) bool { return victims[p.Name] })
	return framework.SnapshotOf(c.nodes, left)
}

// fits reports whether the members fit on their nodes, one after the other, each decided on with a new
// snapshot.
func (c *groupCase) fits(members []Member, victims map[string]bool) bool {
	w := c.without(victims)
	for _, m := range members {
		in := Input{Pod: m.In.Pod, Snapshot: w, Pick: first}
		in.recount()
		index, _ := w.Index(m.Node)
		if in.filter(index) != nil {
			return false
		}
		next := framework.NewSnapshot(slices.Clone(w.Nodes()))
		next.Set(w.Nodes()[index].With(m.In.Pod))
		w = framework.NewSnapshot(slices.Clone(next.Nodes()))
	}
	return true
}

// checkGroupCase checks a search for victims against its definition: without all units of lower priority, the group
// fits; units are put back in order, each if the group fits nevertheless, with a new snapshot for each step.
func checkGroupCase(t *rapid.T, c *groupCase, spareAs func(*GroupSearch, []Member) GroupPreemption) {
	snapshot, groups := framework.SnapshotOf(c.nodes, c.on), groupsOf(c.groups)
	nodes := slices.Clone(snapshot.Nodes())
	search := SearchVictims(snapshot, groups, 3)
	lower := slices.Clone(search.lower)
	members := placeAll(snapshot, c.pods, nil)
	if members == nil {
		return
	}
	p := spareAs(search, members)
	search.Undo()
	if !slices.Equal(snapshot.Nodes(), nodes) {
		t.Fatal("the snapshot has changed")
	}
	gone := map[string]bool{}
	for _, u := range lower {
		for _, pod := range u.pods {
			gone[pod.pod.Pod.Name] = true
		}
	}
	want, violations := spare(lower, newBudgets(c.budgets), func(u *unit) bool {
		for _, pod := range u.pods {
			delete(gone, pod.pod.Pod.Name)
		}
		if c.fits(members, gone) {
			return true
		}
		for _, pod := range u.pods {
			gone[pod.pod.Pod.Name] = true
		}
		return false
	})
	if namesOf(podsOf(want)) != namesOf(p.Victims) || violations != p.Violations {
		t.Fatalf("victims %q with %d violations, from scratch %q with %d", namesOf(p.Victims), p.Violations, namesOf(podsOf(want)), violations)
	}
	victims := map[string]bool{}
	for _, v := range p.Victims {
		victims[v.Pod.Name] = true
	}
	if !c.fits(members, victims) {
		t.Fatal("the group does not fit without its victims")
	}
	for _, pod := range c.on {
		g, grouped := c.groups[framework.GroupOf(pod).Name]
		priority := *pod.Spec.Priority
		if grouped {
			priority = g.Priority
		}
		if victims[pod.Name] && priority >= 3 {
			t.Fatalf("the victim %s has a priority of %d", pod.Name, priority)
		}
		for _, other := range c.on {
			if g.Whole && framework.GroupOf(other) == framework.GroupOf(pod) && victims[other.Name] != victims[pod.Name] {
				t.Fatalf("of a whole group, %s is a victim and %s is not", pod.Name, other.Name)
			}
		}
	}
}

// TestGroupVictimsFromScratch checks random clusters: the group fits without its victims, whole groups are preempted
// as a whole, and incremental counts equal counts from scratch.
func TestGroupVictimsFromScratch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawGroupCase(t)
		checkGroupCase(t, c, func(s *GroupSearch, members []Member) GroupPreemption { return s.Spare(members, c.budgets) })
	})
}

// TestPlantedGroupVictims plants mistakes into the search.
func TestPlantedGroupVictims(t *testing.T) {
	for name, spareAs := range map[string]func(c *groupCase, s *GroupSearch, members []Member) GroupPreemption{
		"the last victim is forgotten": func(c *groupCase, s *GroupSearch, members []Member) GroupPreemption {
			p := s.Spare(members, c.budgets)
			p.Victims = p.Victims[:max(0, len(p.Victims)-1)]
			return p
		},
		"rules are local": func(c *groupCase, s *GroupSearch, members []Member) GroupPreemption {
			check := s.newCheck(members)
			check.local = true
			victims, violations := spare(s.lower, newBudgets(c.budgets), func(u *unit) bool {
				u.putBack(s.whatIf)
				if check.fits(u) {
					return true
				}
				u.remove(s.whatIf)
				return false
			})
			return GroupPreemption{podsOf(victims), violations}
		},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.MustBreak(t, "victims", func(t *rapid.T) {
				c := drawGroupCase(t)
				checkGroupCase(t, c, func(s *GroupSearch, members []Member) GroupPreemption { return spareAs(c, s, members) })
			})
		})
	}
}
