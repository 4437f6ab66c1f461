package controllers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/controllers/internal/scheduler/explain"
	"minikcm.dev/minikcm/minikcmtest"
)

const found = "minCount (%d) cannot be satisfied: %d scheduled, %d remaining, pod group preemption: found a placement for podgroup, preempting %d victims"

// newPreemptingGangs is newGangs with the priority classes low (-1), middle (10) and high (100).
func newPreemptingGangs(t *testing.T, nodeCount int, opts ...minikcmtest.Option) *gangs {
	t.Helper()
	g := newGangs(t, nodeCount, opts...)
	for name, value := range map[string]int32{"low": -1, "middle": 10, "high": 100} {
		g.class(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value})
	}
	return g
}

func (g *gangs) class(class *schedulingv1.PriorityClass) {
	g.t.Helper()
	_, err := g.Client().SchedulingV1().PriorityClasses().Create(g.ctx, class, metav1.CreateOptions{})
	g.must(err)
}

// stopsIn makes a pod take some seconds to stop.
func stopsIn(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TerminationGracePeriodSeconds = &seconds
		p.Annotations = map[string]string{"minikcm.dev/stop-delay": fmt.Sprintf("%ds", seconds)}
	}
}

// rankedGroup creates a PodGroup with a priority class, and pods of it that each ask for an amount of CPU.
func (g *gangs) rankedGroup(name, class string, minCount int32, cpu string, pods []string, change ...func(*schedulingv1beta1.PodGroup)) {
	g.t.Helper()
	g.group(name, minCount, append(change, func(group *schedulingv1beta1.PodGroup) { group.Spec.PriorityClassName = class })...)
	for _, pod := range pods {
		g.pod(pod, cpu, func(p *corev1.Pod) {
			stopsIn(10)(p)
			p.Annotations[explain.Asked] = "true"
			p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
			p.Spec.PriorityClassName = class
		})
	}
}

// whole makes a PodGroup be disrupted as a whole.
func whole(group *schedulingv1beta1.PodGroup) {
	group.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
}

func (g *gangs) ranked(class, cpu string, names ...string) {
	g.t.Helper()
	for _, name := range names {
		g.pod(name, cpu, func(p *corev1.Pod) {
			stopsIn(10)(p)
			p.Spec.PriorityClassName, p.Labels = class, map[string]string{"app": name}
		})
	}
}

func (g *gangs) get(name string) *corev1.Pod {
	g.t.Helper()
	pod, err := g.Client().CoreV1().Pods("default").Get(g.ctx, name, metav1.GetOptions{})
	g.must(err)
	return pod
}

// terminating returns the pods that are being deleted.
func (g *gangs) terminating() []string {
	g.t.Helper()
	pods, err := g.Client().CoreV1().Pods("default").List(g.ctx, metav1.ListOptions{})
	g.must(err)
	names := []string{}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp != nil {
			names = append(names, pods.Items[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

func (g *gangs) mustTerminate(names ...string) {
	g.t.Helper()
	if got := g.terminating(); !slices.Equal(got, names) {
		g.t.Errorf("pods that are being deleted: %v, want %v", got, names)
	}
}

// explained returns the preemption for a pod's group from the pod's annotations; nil: none.
func (g *gangs) explained(name string) *explain.GroupPreemption {
	g.t.Helper()
	var decision explain.Decision
	g.must(json.Unmarshal([]byte(g.get(name).Annotations[explain.Decided]), &decision))
	return decision.GroupPreemption
}

// TestAGangPreempts deletes the pods of lower priority that a gang needs the room of, on all nodes at once, and
// keeps the rest. The pods of the gang are nominated until the victims are gone.
func TestAGangPreempts(t *testing.T) {
	t.Parallel()
	g := newPreemptingGangs(t, 2)
	g.ranked("low", "1", "low-0", "low-1")
	g.ranked("middle", "1", "middle-0", "middle-1")
	g.pass(10 * time.Second)
	g.rankedGroup("g", "high", 2, "1", []string{"a", "b"})
	g.pass(2 * time.Second)
	g.mustTerminate("low-0", "low-1")
	message := fmt.Sprintf(found, 2, 0, 1, 2)
	g.wantState("g", "False, Unschedulable: "+message)
	g.wantCondition("a", "Unschedulable: 0/2 nodes are available: 2 Insufficient cpu.")
	g.wantCondition("b", "Unschedulable: minCount (2) cannot be satisfied: 0 scheduled, 1 remaining")
	group, err := g.Client().SchedulingV1beta1().PodGroups("default").Get(g.ctx, "g", metav1.GetOptions{})
	g.must(err)
	for _, victim := range []string{"low-0", "low-1"} {
		i := slices.IndexFunc(g.get(victim).Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
		if i < 0 || g.get(victim).Status.Conditions[i].Message != "default-scheduler: preempting to accommodate a higher priority podgroup" {
			t.Errorf("the conditions of %s: %v", victim, g.get(victim).Status.Conditions)
		}
		events, err := g.Client().CoreV1().Events("default").List(g.ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + victim + ",reason=Preempted"})
		g.must(err)
		if want := "Preempted by podgroup " + string(group.UID) + " on node cluster"; len(events.Items) != 1 || events.Items[0].Message != want {
			t.Errorf("events of %s: %v, want %q", victim, events.Items, want)
		}
	}
	for _, pod := range []string{"a", "b"} {
		node := g.get(pod).Status.NominatedNodeName
		if node == "" || g.get(pod).Spec.NodeName != "" {
			t.Errorf("pod %s is nominated to %q and on %q", pod, node, g.get(pod).Spec.NodeName)
		}
		if p := g.explained(pod); p == nil || p.Node != node || len(p.Victims) != 2 {
			t.Errorf("the explanation of pod %s: %+v", pod, p)
		}
	}
	// Pods of lower priority do not take the room meanwhile.
	g.ranked("middle", "1", "late")
	g.pass(2 * time.Minute)
	g.mustBind("a", "b", "middle-0", "middle-1")
	g.wantState("g", isScheduled)
}

// TestAGangThatWouldNotFitPreemptsNothing deletes no pod if the gang would not fit afterwards.
func TestAGangThatWouldNotFitPreemptsNothing(t *testing.T) {
	t.Parallel()
	g := newPreemptingGangs(t, 2)
	g.ranked("high", "1", "other")
	g.ranked("low", "1", "low-0", "low-1", "low-2")
	g.pass(10 * time.Second)
	g.rankedGroup("g", "high", 4, "1", []string{"a", "b", "c", "d"})
	g.pass(10 * time.Minute)
	g.mustBind("low-0", "low-1", "low-2", "other")
	g.wantState("g", "False, Unschedulable: minCount (4) cannot be satisfied: 0 scheduled, 3 remaining, pod group preemption: minCount (4) cannot be satisfied: 3 scheduled, 0 remaining")
	if a := g.get("a"); a.Status.NominatedNodeName != "" {
		t.Errorf("a is nominated to %s", a.Status.NominatedNodeName)
	}
}

// TestAGangMayNotPreempt checks that a gang's preemption respects the preemption policy of its pods.
func TestAGangMayNotPreempt(t *testing.T) {
	t.Parallel()
	g := newPreemptingGangs(t, 1)
	never := corev1.PreemptNever
	g.class(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "polite"}, Value: 100, PreemptionPolicy: &never})
	g.ranked("low", "2", "low")
	g.pass(10 * time.Second)
	g.rankedGroup("g", "polite", 1, "1", []string{"a"})
	g.pass(time.Minute)
	g.mustBind("low")
	g.wantState("g", "False, Unschedulable: minCount (1) cannot be satisfied: 0 scheduled, 0 remaining, pod group preemption: not eligible due to preemptionPolicy=Never.")
}

// TestGroupsAsVictims preempts PodGroups by their disruption mode, for gangs and for single pods.
func TestGroupsAsVictims(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		victim []func(*schedulingv1beta1.PodGroup)
		single bool
		want   []string
	}{
		{name: "a gang, as a whole", victim: []func(*schedulingv1beta1.PodGroup){whole}, want: []string{"v-0", "v-1", "v-2", "v-3"}},
		{name: "a gang, pod by pod", want: []string{"v-?"}},
		{name: "a pod, as a whole", victim: []func(*schedulingv1beta1.PodGroup){whole}, single: true, want: []string{"v-0", "v-1", "v-2", "v-3"}},
		{name: "a pod, pod by pod", single: true, want: []string{"v-?"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newPreemptingGangs(t, 2)
			g.rankedGroup("v", "middle", 4, "1", []string{"v-0", "v-1", "v-2", "v-3"}, tt.victim...)
			g.pass(10 * time.Second)
			g.mustBind("v-0", "v-1", "v-2", "v-3")
			if tt.single {
				g.ranked("high", "1", "a")
			} else {
				g.rankedGroup("g", "high", 1, "1", []string{"a"})
			}
			g.pass(2 * time.Second)
			got := g.terminating()
			if len(tt.want) == 1 && len(got) == 1 {
				got = []string{strings.TrimRight(got[0], "0123") + "?"}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("pods that are being deleted: %v, want %v", got, tt.want)
			}
			g.pass(2 * time.Minute)
			if g.get("a").Spec.NodeName == "" {
				t.Errorf("a has no node: %s", g.condition("a"))
			}
		})
	}
}

// TestTheGroupsPriorityCounts preempts pods by the priority of their PodGroup, which was created again with another one.
func TestTheGroupsPriorityCounts(t *testing.T) {
	t.Parallel()
	g := newPreemptingGangs(t, 1)
	g.rankedGroup("v", "low", 1, "2", []string{"v-0"})
	g.pass(10 * time.Second)
	groups := g.Client().SchedulingV1beta1().PodGroups("default")
	_, err := groups.Patch(g.ctx, "v", "application/merge-patch+json", []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
	g.must(err)
	g.must(groups.Delete(g.ctx, "v", metav1.DeleteOptions{}))
	g.group("v", 1, func(group *schedulingv1beta1.PodGroup) { group.Spec.PriorityClassName = "high" })
	g.rankedGroup("g", "middle", 1, "1", []string{"a"})
	g.pass(time.Minute)
	g.mustBind("v-0")
	g.wantState("g", "False, Unschedulable: minCount (1) cannot be satisfied: 0 scheduled, 0 remaining, "+noVictims)
}

// TestAGangSparesBudgets prefers victims whose deletion violates no PodDisruptionBudget, and explains what it deletes.
func TestAGangSparesBudgets(t *testing.T) {
	t.Parallel()
	g := newPreemptingGangs(t, 1)
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "covered"}}
	budget.Spec = policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "covered"}}}
	_, err := g.Client().PolicyV1().PodDisruptionBudgets("default").Create(g.ctx, budget, metav1.CreateOptions{})
	g.must(err)
	g.ranked("low", "1", "covered")
	g.ranked("middle", "1", "middle")
	g.pass(time.Minute)
	name := "g"
	g.pod("a", "1", func(p *corev1.Pod) {
		p.Annotations = map[string]string{explain.Asked: "true"}
		p.Spec.PriorityClassName, p.Spec.SchedulingGroup = "high", &corev1.PodSchedulingGroup{PodGroupName: &name}
	})
	g.rankedGroup(name, "high", 1, "1", nil)
	g.pass(2 * time.Second)
	g.mustTerminate("middle")
	want := explain.GroupPreemption{Node: "node-0", Victims: []string{"default/middle"}, Total: 1}
	if p := g.explained("a"); p == nil || !cmp.Equal(*p, want) {
		t.Errorf("the explanation is %+v", p)
	}
	g.pass(time.Minute)
	g.mustBind("a", "covered")
}

// TestAGangWaitsForItsVictims decides on no further victims while those that it has are terminating.
func TestAGangWaitsForItsVictims(t *testing.T) {
	t.Parallel()
	g := newPreemptingGangs(t, 2)
	g.ranked("middle", "1", "middle-0", "middle-1")
	for i := range 2 { // the first one is gone long before the second one
		g.pod(fmt.Sprintf("low-%d", i), "1", func(p *corev1.Pod) {
			stopsIn(int64(10 + 100*i))(p)
			p.Spec.PriorityClassName = "low"
		})
	}
	g.pass(10 * time.Second)
	g.rankedGroup("g", "high", 2, "1", []string{"a", "b"})
	g.pass(2 * time.Second)
	g.mustTerminate("low-0", "low-1")
	g.pass(58 * time.Second)
	g.mustTerminate("low-1")
	g.mustBind("low-1", "middle-0", "middle-1")
	g.wantState("g", "False, Unschedulable: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, pod group preemption: ongoing preemption on nominated nodes")
	g.pass(2 * time.Minute)
	g.mustBind("a", "b", "middle-0", "middle-1")
}

// TestTheRestOfAGangPreempts lets pods that come after their gang was placed preempt on their own.
func TestTheRestOfAGangPreempts(t *testing.T) {
	t.Parallel()
	g := newPreemptingGangs(t, 1)
	g.ranked("low", "1", "low")
	g.pass(10 * time.Second)
	g.rankedGroup("g", "high", 1, "1", []string{"a", "b"})
	g.pass(2 * time.Minute)
	g.mustBind("a", "b")
	g.wantState("g", isScheduled)
}

// TestAGangThatFitsInAnotherWay nominates the pods of a gang that fits without a victim, but not on the nodes that score best, and places
// them there after the back-off.
func TestAGangThatFitsInAnotherWay(t *testing.T) {
	t.Parallel()
	g := newPreemptingGangs(t, 2)
	on := func(name, class, cpu, node string) {
		g.pod(name, cpu, func(p *corev1.Pod) {
			p.Spec.PriorityClassName, p.Spec.NodeSelector = class, map[string]string{corev1.LabelHostname: node}
		})
	}
	on("other", "high", "100m", "node-0")
	on("low", "low", "1", "node-1")
	g.pass(10 * time.Second)
	g.group("g", 2, func(group *schedulingv1beta1.PodGroup) { group.Spec.PriorityClassName = "high" })
	name := "g"
	for _, pod := range [][2]string{{"a", "1"}, {"b", "1900m"}} {
		g.pod(pod[0], pod[1], func(p *corev1.Pod) {
			p.Spec.PriorityClassName, p.Spec.SchedulingGroup = "high", &corev1.PodSchedulingGroup{PodGroupName: &name}
		})
	}
	g.pass(100 * time.Millisecond)
	g.wantState("g", "False, Unschedulable: "+fmt.Sprintf(found, 2, 1, 0, 0))
	if a, b := g.get("a").Status.NominatedNodeName, g.get("b").Status.NominatedNodeName; a != "node-1" || b != "node-0" {
		t.Errorf("a is nominated to %q, b to %q", a, b)
	}
	g.pass(10 * time.Second)
	g.mustBind("a", "b", "low", "other")
	g.mustTerminate()
}
