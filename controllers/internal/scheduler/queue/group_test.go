package queue

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// testGroups has the numbers of pods that groups need, by name, and their priorities.
type testGroups struct {
	queue      *testQueue
	need       map[string]int
	priorities map[string]int32
}

func (g *testGroups) Ready(key types.NamespacedName) bool {
	entry := g.queue.groups[key]
	need, known := g.need[key.Name]
	return known && entry != nil && len(entry.group.members) >= need
}

func (g *testGroups) Priority(key types.NamespacedName) int32 { return g.priorities[key.Name] }

func newGroupQueue(t *testing.T) (*testQueue, *testGroups) {
	tq := newTestQueue(t)
	groups := &testGroups{queue: tq, need: map[string]int{}, priorities: map[string]int32{}}
	tq.podGroups = groups
	return tq, groups
}

func inGroup(name string) st.PodOption {
	return func(p *corev1.Pod) { p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name} }
}

// expectGroup pops a group with these members.
func (tq *testQueue) expectGroup(name string, members ...string) *Attempt {
	tq.t.Helper()
	if tq.ledger.Idle() {
		tq.t.Fatalf("the queue has nothing to pop, want %s", name)
	}
	a := tq.Pop(tq.t.Context())
	var got []string
	for _, m := range a.Members {
		got = append(got, m.Info.Pod.Name)
	}
	if a.Group.Name != name || !slices.Equal(got, members) {
		tq.t.Fatalf("popped %s with %v, want %s with %v", a.Group.Name, got, name, members)
	}
	return a
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

// TestGroupsArePoppedAsAWhole pops a group when it is ready, by its priority and in its place.
func TestGroupsArePoppedAsAWhole(t *testing.T) {
	tq, groups := newGroupQueue(t)
	groups.need["g"], groups.priorities["g"] = 3, 5
	tq.Set(st.Pod("c", inGroup("g")))
	tq.Set(st.Pod("b", inGroup("g")))
	tq.Set(st.Pod("other", inGroup("unknown")))
	tq.expectIdle()
	tq.Set(st.Pod("low"))
	tq.Set(st.Pod("a", inGroup("g")))
	a := tq.expectGroup("g", "a", "b", "c")
	if !tq.Decided(a.Members[0]) || !tq.Decided(a.Members[1]) {
		t.Fatal("the pods are gone")
	}
	tq.EndGroup(a, Placed)
	tq.Done(a.Members[0])
	tq.Done(a.Members[1])
	a = tq.expectGroupAgain(groups, "g", 1, "c") // without a back-off
	tq.EndGroup(a, Rejected)
	tq.Done(tq.expect("low"))
}

// expectGroupAgain lowers the number of pods that a group needs, and pops it.
func (tq *testQueue) expectGroupAgain(groups *testGroups, name string, need int, members ...string) *Attempt {
	tq.t.Helper()
	groups.need[name] = need
	tq.Regroup(key(name), true)
	return tq.expectGroup(name, members...)
}

// TestARejectedGroupWaits retries a rejected group after an event that the hint approves, and its back-off.
func TestARejectedGroupWaits(t *testing.T) {
	tq, groups := newGroupQueue(t)
	groups.need["g"] = 2
	tq.Set(st.Pod("a", inGroup("g")))
	tq.Set(st.Pod("b", inGroup("g")))
	tq.EndGroup(tq.expectGroup("g", "a", "b"), Rejected)
	tq.Notify(framework.ClusterEvent{Node: "n"}) // does not help
	tq.expectIdle()
	tq.fits["n"] = true
	tq.Notify(framework.ClusterEvent{Node: "n"})
	tq.expectIdle() // until the end of the back-off, although nothing else is active
	popped := make(chan *Attempt)
	go func() { popped <- tq.Pop(t.Context()) }()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a := <-popped
		if a.Group.Name != "g" || len(a.Members) != 2 {
			t.Errorf("popped %v", a.Group)
		}
		tq.EndGroup(a, Rejected)
	}()
	tq.advance(time.Second)
	<-ended
}

// TestMembersThatGo checks groups that pods leave and join while they are decided on, and the end of the last one.
func TestMembersThatGo(t *testing.T) {
	tq, groups := newGroupQueue(t)
	groups.need["g"] = 2
	a, b, c := st.Pod("a", inGroup("g")), st.Pod("b", inGroup("g")), st.Pod("c", inGroup("g"))
	tq.Set(a)
	tq.Set(b)
	tq.Remove(a.UID)
	tq.expectIdle() // one is not enough
	tq.Set(a)
	attempt := tq.expectGroup("g", "a", "b")
	tq.Remove(a.UID)
	tq.Set(c)
	if tq.Decided(attempt.Members[0]) {
		t.Error("a pod that was removed has been decided on")
	}
	tq.EndGroup(attempt, Placed)
	attempt = tq.expectGroup("g", "b", "c")
	tq.Decided(attempt.Members[0])
	tq.Decided(attempt.Members[1])
	tq.EndGroup(attempt, Placed)
	if len(tq.groups) != 0 {
		t.Error("the group without members is still there")
	}
	tq.Done(attempt.Members[0])
	tq.Done(attempt.Members[1])
	tq.expectIdle()
}

// TestAFailedBindingJoinsItsGroup puts a pod whose binding failed back into its group.
func TestAFailedBindingJoinsItsGroup(t *testing.T) {
	tq, groups := newGroupQueue(t)
	groups.need["g"] = 1
	tq.Set(st.Pod("a", inGroup("g")))
	a := tq.expectGroup("g", "a")
	tq.Decided(a.Members[0])
	tq.EndGroup(a, Placed)
	tq.Fail(a.Members[0])
	tq.expectIdle()
	done := make(chan struct{})
	go func() {
		defer close(done)
		again := tq.Pop(t.Context())
		if len(again.Members) != 1 {
			t.Errorf("popped %v", again)
			return
		}
		tq.Done(again.Members[0])
		tq.EndGroup(again, Placed)
	}()
	tq.advance(time.Second)
	<-done
}
