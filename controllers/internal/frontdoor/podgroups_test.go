package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

// gangs is a cluster with gang scheduling, whose nodes have two CPUs each.
type gangs struct {
	*minikcmtest.Cluster
	t   *testing.T
	ctx context.Context
}

func newGangs(t *testing.T, nodeCount int, opts ...minikcmtest.Option) *gangs {
	t.Helper()
	twoCPUs := minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Nodes.Spec = minikcm.NodeSpec{Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}
	})
	opts = append([]minikcmtest.Option{minikcmtest.WithNodes(nodeCount), minikcmtest.WithVirtualTime(), minikcmtest.WithGangScheduling(), twoCPUs}, opts...)
	return &gangs{Cluster: minikcmtest.New(t, opts...), t: t, ctx: t.Context()}
}

func (g *gangs) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *gangs) pass(d time.Duration) {
	g.t.Helper()
	g.must(g.Advance(g.ctx, d))
}

// group creates a PodGroup: a gang or, if minCount is 0, one of the basic policy.
func (g *gangs) group(name string, minCount int32, change ...func(*schedulingv1beta1.PodGroup)) {
	g.t.Helper()
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
	group.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
	if minCount > 0 {
		group.Spec.SchedulingPolicy = schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: minCount}}
	}
	for _, f := range change {
		f(group)
	}
	_, err := g.Client().SchedulingV1beta1().PodGroups("default").Create(g.ctx, group, metav1.CreateOptions{})
	g.must(err)
}

// pods creates pods of a group that each ask for an amount of CPU.
func (g *gangs) pods(group, cpu string, names ...string) {
	g.t.Helper()
	for _, name := range names {
		g.pod(name, cpu, func(pod *corev1.Pod) { pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group} })
	}
}

func (g *gangs) pod(name, cpu string, change func(*corev1.Pod)) {
	g.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	change(pod)
	_, err := g.Client().CoreV1().Pods("default").Create(g.ctx, pod, metav1.CreateOptions{})
	g.must(err)
}

func (g *gangs) remove(name string) {
	g.t.Helper()
	now := int64(0)
	g.must(g.Client().CoreV1().Pods("default").Delete(g.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
}

// bound returns the names of the pods that have a node.
func (g *gangs) bound() []string {
	g.t.Helper()
	pods, err := g.Client().CoreV1().Pods("default").List(g.ctx, metav1.ListOptions{})
	g.must(err)
	names := []string{}
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName != "" {
			names = append(names, pods.Items[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

func (g *gangs) mustBind(names ...string) {
	g.t.Helper()
	if diff := cmp.Diff(append([]string{}, names...), g.bound()); diff != "" {
		g.t.Errorf("pods with a node (-want +got):\n%s", diff)
	}
}

// condition returns the PodScheduled condition of a pod, as reason: message.
func (g *gangs) condition(name string) string {
	g.t.Helper()
	pod, err := g.Client().CoreV1().Pods("default").Get(g.ctx, name, metav1.GetOptions{})
	g.must(err)
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

// writes returns how often the scheduler has written.
func (g *gangs) writes() int {
	return len(g.Writes().Writes(func(w *minikcm.Write) bool { return w.Actor == "system:kube-scheduler" }))
}

// state returns the condition of a PodGroup, as status, reason: message.
func (g *gangs) state(name string) string {
	g.t.Helper()
	group, err := g.Client().SchedulingV1beta1().PodGroups("default").Get(g.ctx, name, metav1.GetOptions{})
	g.must(err)
	c := meta.FindStatusCondition(group.Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s, %s: %s", c.Status, c.Reason, c.Message)
}

func (g *gangs) wantState(group, want string) {
	g.t.Helper()
	if got := g.state(group); got != want {
		g.t.Errorf("PodGroup %s: %q, want %q", group, got, want)
	}
}

func (g *gangs) wantCondition(pod, want string) {
	g.t.Helper()
	if got := g.condition(pod); got != want {
		g.t.Errorf("pod %s: %q, want %q", pod, got, want)
	}
}

const (
	isScheduled = "True, Scheduled: "
	noVictims   = "pod group preemption: No preemption victims found for incoming preemptor"
)

// TestAGangWaitsForItsPods binds the pods of a gang when its PodGroup and minCount of them exist, without a word before.
func TestAGangWaitsForItsPods(t *testing.T) {
	t.Parallel()
	g := newGangs(t, 2)
	g.pods("g", "1", "a", "b")
	g.pass(time.Minute)
	g.mustBind()
	g.group("g", 3)
	g.pass(time.Minute)
	g.mustBind()
	g.wantCondition("a", "")
	g.wantState("g", "")
	g.pods("g", "1", "c")
	g.pass(time.Second)
	g.mustBind("a", "b", "c")
	g.wantState("g", isScheduled)
	g.pods("g", "1", "d") // the group has enough pods already
	g.pass(time.Second)
	g.mustBind("a", "b", "c", "d")
}

// TestNoneOfAGangThatDoesNotFit checks the statuses of a gang without room, and that it is placed when there is.
func TestNoneOfAGangThatDoesNotFit(t *testing.T) {
	t.Parallel()
	g := newGangs(t, 2)
	g.pod("other", "1", func(*corev1.Pod) {})
	g.pass(time.Second)
	g.group("g", 2)
	g.pods("g", "2", "a", "b")
	g.pass(time.Minute)
	g.mustBind("other")
	message := "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, " + noVictims
	g.wantCondition("a", "Unschedulable: pod group is unschedulable, "+message)
	g.wantCondition("b", "Unschedulable: 0/2 nodes are available: 2 Insufficient cpu.")
	g.wantState("g", "False, Unschedulable: "+message)
	events, err := g.Client().CoreV1().Events("default").List(g.ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=a,reason=FailedScheduling"})
	g.must(err)
	if len(events.Items) == 0 || events.Items[0].Message != "pod group is unschedulable, "+message {
		t.Errorf("events of a: %v", events.Items)
	}
	before := g.writes()
	g.pass(2 * time.Minute)
	if n := g.writes() - before; n > 0 {
		t.Errorf("%d writes of the scheduler while nothing happens", n)
	}
	g.remove("other")
	g.pass(time.Minute)
	g.mustBind("a", "b")
	g.wantState("g", isScheduled)
}

// TestTwoGangsNeverShareTheNodes lets two gangs compete for nodes that have room for one of them.
func TestTwoGangsNeverShareTheNodes(t *testing.T) {
	t.Parallel()
	g := newGangs(t, 2)
	g.group("red", 4)
	g.group("blue", 4)
	for i := range 4 { // they arrive by turns
		g.pods("red", "1", fmt.Sprintf("red-%d", i))
		g.pods("blue", "1", fmt.Sprintf("blue-%d", i))
	}
	g.pass(time.Minute)
	first := g.bound()
	if len(first) != 4 {
		t.Fatalf("pods with a node: %v", first)
	}
	winner, loser := "red", "blue"
	if strings.HasPrefix(first[0], "blue") {
		winner, loser = loser, winner
	}
	g.mustBind(winner+"-0", winner+"-1", winner+"-2", winner+"-3")
	g.wantState(winner, isScheduled)
	g.wantState(loser, "False, Unschedulable: minCount (4) cannot be satisfied: 0 scheduled, 3 remaining, "+noVictims)
	g.wantCondition(loser+"-3", "Unschedulable: minCount (4) cannot be satisfied: 0 scheduled, 3 remaining")
	for i := range 4 {
		g.remove(fmt.Sprintf("%s-%d", winner, i))
		g.pass(time.Second)
		if n := len(g.bound()); i < 3 && n != 3-i {
			t.Errorf("after the end of %d pods, %d have a node", i+1, n)
		}
	}
	g.pass(time.Minute)
	g.mustBind(loser+"-0", loser+"-1", loser+"-2", loser+"-3")
}

// TestPodsBeyondMinCount places as many pods of a gang as fit, if they are enough, and the pods of a
// group with the basic policy one by one.
func TestPodsBeyondMinCount(t *testing.T) {
	t.Parallel()
	g := newGangs(t, 1)
	g.group("gang", 1)
	g.pods("gang", "800m", "a", "b", "c")
	g.pass(time.Minute)
	g.mustBind("a", "b")
	g.wantState("gang", isScheduled)
	g.wantCondition("c", "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.")
	g.group("basic", 0)
	g.pods("basic", "300m", "d", "e")
	g.pass(time.Minute)
	g.mustBind("a", "b", "d")
	g.wantState("basic", isScheduled)
	g.wantCondition("e", "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.")
	g.remove("d")
	g.pass(time.Minute)
	g.mustBind("a", "b", "e")
}

// TestMinCountChanges places a gang whose minCount is lowered, and holds one back whose pods do not suffice any more.
func TestMinCountChanges(t *testing.T) {
	t.Parallel()
	g := newGangs(t, 1)
	set := func(minCount int) {
		t.Helper()
		_, err := g.Client().SchedulingV1beta1().PodGroups("default").Patch(g.ctx, "g", types.MergePatchType, fmt.Appendf(nil, `{"spec": {"schedulingPolicy": {"gang": {"minCount": %d}}}}`, minCount), metav1.PatchOptions{})
		g.must(err)
	}
	g.group("g", 3)
	g.pods("g", "1", "a", "b", "c")
	g.pass(time.Minute)
	g.mustBind()
	set(4)
	g.pass(10 * time.Minute)
	g.mustBind()
	set(2)
	g.pass(time.Minute)
	g.mustBind("a", "b")
}

// TestGroupsThatAreWrong checks the errors of groups that are not decided on.
func TestGroupsThatAreWrong(t *testing.T) {
	t.Parallel()
	g := newGangs(t, 1)
	_, err := g.Client().SchedulingV1().PriorityClasses().Create(g.ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 10}, metav1.CreateOptions{})
	g.must(err)
	g.group("high", 1, func(group *schedulingv1beta1.PodGroup) { group.Spec.PriorityClassName = "high" })
	g.pods("high", "100m", "a")
	g.pass(time.Minute)
	const message = "all pods in a single pod group should have the same priority as the pod group's priority, got 0 and 10"
	g.mustBind()
	g.wantCondition("a", "SchedulerError: "+message)
	g.wantState("high", "False, SchedulerError: "+message)

	group := "gated"
	g.group(group, 2)
	g.pods(group, "100m", "b")
	g.pod("c", "100m", func(pod *corev1.Pod) {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
	})
	g.pass(time.Minute)
	g.mustBind()
	_, err = g.Client().CoreV1().Pods("default").Patch(g.ctx, "c", types.MergePatchType, []byte(`{"spec": {"schedulingGates": null}}`), metav1.PatchOptions{})
	g.must(err)
	g.pass(time.Second)
	g.mustBind("b", "c")
}

// TestAPodGroupGoesAfterItsPods keeps a PodGroup that is deleted until its pods have ended.
func TestAPodGroupGoesAfterItsPods(t *testing.T) {
	t.Parallel()
	g := newGangs(t, 1)
	groups := g.Client().SchedulingV1beta1().PodGroups("default")
	g.group("g", 1)
	g.pods("g", "100m", "a", "b")
	g.pass(time.Second)
	g.must(groups.Delete(g.ctx, "g", metav1.DeleteOptions{}))
	g.pass(time.Minute)
	kept, err := groups.Get(g.ctx, "g", metav1.GetOptions{})
	if err != nil || kept.DeletionTimestamp == nil || !slices.Equal(kept.Finalizers, []string{"scheduling.k8s.io/podgroup-protection"}) {
		t.Fatalf("%v %v", kept, err)
	}
	g.remove("a")
	g.pass(time.Minute)
	if _, err := groups.Get(g.ctx, "g", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = g.Client().CoreV1().Pods("default").Patch(g.ctx, "b", types.MergePatchType, []byte(`{"status": {"phase": "Succeeded"}}`), metav1.PatchOptions{}, "status")
	g.must(err)
	g.pass(time.Second)
	if _, err := groups.Get(g.ctx, "g", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatal(errors.Join(errors.New("the PodGroup is still there"), err))
	}
}

// TestWithoutGangScheduling checks that a cluster by default neither serves the kinds nor respects the groups
// of pods.
func TestWithoutGangScheduling(t *testing.T) {
	t.Parallel()
	g := &gangs{Cluster: minikcmtest.New(t, minikcmtest.WithVirtualTime()), t: t, ctx: t.Context()}
	if _, err := g.Client().SchedulingV1beta1().PodGroups("default").List(g.ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("listing PodGroups: %v", err)
	}
	g.pods("g", "100m", "a")
	g.pass(time.Second)
	g.mustBind("a")
	pod, err := g.Client().CoreV1().Pods("default").Get(g.ctx, "a", metav1.GetOptions{})
	g.must(err)
	if pod.Spec.SchedulingGroup != nil {
		t.Errorf("the pod has kept its scheduling group: %v", pod.Spec.SchedulingGroup)
	}
}
