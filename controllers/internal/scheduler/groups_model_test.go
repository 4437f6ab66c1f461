package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	stdruntime "runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
	"minikcm.dev/minikcm/internal/events"
)

const (
	groupHistory = 120
	modelGroups  = 3
	modelNodes   = 3
	nodeSlots    = 2
	maxMinCount  = 4
)

// groupWorld is an API server with PodGroups, pods that ask for one CPU each, and nodes, and a scheduler whose
// handlers are behind it. Its tasks run in any order, and the API server refuses some bindings.
type groupWorld struct {
	t         *rapid.T
	scheduler *Scheduler
	clock     *clock.Virtual
	ledger    *clock.Ledger
	indexer   cache.Indexer

	version int
	pods    map[string]*corev1.Pod
	groups  map[string]*schedulingv1beta1.PodGroup
	// events have not reached the handlers.
	events []func()
	// refusing is set while bindings may be refused.
	refusing bool
	// ranked is set if pods and groups have priorities, so that they preempt each other.
	ranked bool
	// deleted are the pods that the running task has deleted.
	deleted []*corev1.Pod
	mistake groupMistake
}

// groupMistake changes the PodGroups that the scheduler sees, or its hint.
type groupMistake struct {
	seen func(*schedulingv1beta1.PodGroup)
	hint queue.Hint
}

func newGroupWorld(t *rapid.T, mistake groupMistake) *groupWorld {
	client := fake.NewClientset()
	kinds := informers.KindsOf(client, nil)
	w := &groupWorld{
		t: t, pods: map[string]*corev1.Pod{}, groups: map[string]*schedulingv1beta1.PodGroup{}, mistake: mistake,
		ledger: clock.NewLedger(), indexer: kinds.Pods().Informer().GetIndexer(), refusing: true,
	}
	w.clock = clock.NewVirtual(time.Unix(1e9, 0), w.ledger)
	e := &env.Env{Clock: w.clock, Ledger: w.ledger, Random: clock.NewRandom(1), Informers: kinds, Logger: klog.Background(), Recorder: &events.Recorder{}}
	s, err := newScheduler(e, client, Options{PodGroups: true})
	w.must(err)
	w.scheduler = s
	clear(s.recorders) // a nil recorder writes nothing
	if mistake.hint != nil {
		s.queue.Close()
		s.queue = queue.New(w.clock, w.ledger, queue.Options{Name: Name, Hint: mistake.hint, Ready: s.devices.ready, Groups: s.groups})
	}
	client.PrependReactor("*", "pods", w.reactToPod)
	client.PrependReactor("patch", "podgroups", w.reactToGroup)
	return w
}

func (w *groupWorld) close() {
	w.scheduler.queue.Close()
	w.clock.Close()
}

func (w *groupWorld) must(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *groupWorld) draw(n int, label string) int { return rapid.IntRange(0, n-1).Draw(w.t, label) }

// reactToPod is the API server for pods.
func (w *groupWorld) reactToPod(action clienttesting.Action) (bool, runtime.Object, error) {
	create, isBinding := action.(clienttesting.CreateAction)
	if !isBinding {
		return true, &corev1.Pod{}, w.preempt(action)
	}
	binding := create.GetObject().(*corev1.Binding)
	pod := w.pods[binding.Name]
	switch {
	case pod == nil || pod.UID != binding.UID || pod.DeletionTimestamp != nil:
		return true, nil, apierrors.NewNotFound(corev1.Resource("pods"), binding.Name)
	case pod.Spec.NodeName != "":
		w.t.Fatalf("pod %s is bound twice", pod.Name)
	case w.refusing && w.draw(refusedOneIn, "refused") == 0:
		return true, nil, apierrors.NewInternalError(errors.New("refused"))
	}
	bound := pod.DeepCopy()
	bound.Spec.NodeName = binding.Target.Name
	w.writePod(pod, bound)
	return true, binding, nil
}

// reactToGroup is the API server for the status of PodGroups.
func (w *groupWorld) reactToGroup(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchAction)
	group := w.groups[patch.GetName()]
	if group == nil {
		return true, nil, apierrors.NewNotFound(schedulingv1beta1.Resource("podgroups"), patch.GetName())
	}
	var sent schedulingv1beta1.PodGroup
	w.must(json.Unmarshal(patch.GetPatch(), &sent))
	written := group.DeepCopy()
	written.Status.Conditions = sent.Status.Conditions
	w.writeGroup(group, written)
	return true, written, nil
}

func (w *groupWorld) nextVersion() string {
	w.version++
	return strconv.Itoa(w.version)
}

// writePod stores a pod; nil deletes it.
func (w *groupWorld) writePod(old, pod *corev1.Pod) {
	h := w.scheduler.podHandler()
	switch {
	case pod == nil:
		delete(w.pods, old.Name)
		w.events = append(w.events, func() { w.must(w.indexer.Delete(old)); h.OnDelete(old) })
		return
	case old == nil:
		w.events = append(w.events, func() { w.must(w.indexer.Add(pod)); h.OnAdd(pod, false) })
	default:
		w.events = append(w.events, func() { w.must(w.indexer.Update(pod)); h.OnUpdate(old, pod) })
	}
	pod.ResourceVersion = w.nextVersion()
	w.pods[pod.Name] = pod
	used := map[string]int{}
	for _, p := range w.pods {
		if p.Spec.NodeName != "" {
			used[p.Spec.NodeName]++
			if used[p.Spec.NodeName] > nodeSlots {
				w.t.Fatalf("node %s has more pods than it has room for", p.Spec.NodeName)
			}
		}
	}
}

func (w *groupWorld) writeGroup(old, group *schedulingv1beta1.PodGroup) {
	h := w.scheduler.podGroupHandler()
	seen := func(g *schedulingv1beta1.PodGroup) *schedulingv1beta1.PodGroup {
		if g != nil && w.mistake.seen != nil {
			g = g.DeepCopy()
			w.mistake.seen(g)
		}
		return g
	}
	switch {
	case group == nil:
		delete(w.groups, old.Name)
		w.events = append(w.events, func() { h.OnDelete(seen(old)) })
		return
	case old == nil:
		w.events = append(w.events, func() { h.OnAdd(seen(group), false) })
	default:
		w.events = append(w.events, func() { h.OnUpdate(seen(old), seen(group)) })
	}
	group.ResourceVersion = w.nextVersion()
	w.groups[group.Name] = group
}

func (w *groupWorld) step() {
	if w.ranked && w.draw(6, "end") == 0 {
		w.endVictim()
		return
	}
	switch w.draw(12, "step") {
	case 0, 1, 2:
		w.createPod()
	case 3:
		w.changeGroup()
	case 4:
		w.deletePod()
	case 5, 6:
		w.showEvent()
	case 7, 8:
		w.decide()
	case 9, 10:
		w.runTask()
	case 11:
		w.pass(time.Duration(1+w.draw(10, "seconds")) * time.Second)
	}
}

func groupName(i int) string { return fmt.Sprintf("g%d", i) }

func (w *groupWorld) createPod() {
	name := fmt.Sprintf("p%d", w.version)
	pod := st.Pod(name, st.Requests("cpu", "1"))
	pod.UID = types.UID(name)
	if i := w.draw(modelGroups+1, "group"); i < modelGroups { // the others have none
		group := groupName(i)
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
		w.rank(&pod.Spec.Priority, i)
	} else if w.ranked {
		w.rank(&pod.Spec.Priority, w.draw(modelGroups, "priority"))
	}
	w.writePod(nil, pod)
}

// changeGroup creates a PodGroup, deletes it, or changes its minCount. A minCount of 0 stands for the basic policy.
func (w *groupWorld) changeGroup() {
	number := w.draw(modelGroups, "group")
	name := groupName(number)
	old := w.groups[name]
	if old != nil && w.draw(3, "deleted") == 0 {
		w.writeGroup(old, nil)
		return
	}
	group := &schedulingv1beta1.PodGroup{}
	group.Namespace, group.Name, group.UID = "default", name, types.UID(fmt.Sprint(name, "-", w.version))
	minCount := int32(w.draw(maxMinCount+1, "minCount"))
	w.rank(&group.Spec.Priority, number)
	if old == nil && w.ranked && w.draw(2, "whole") == 0 {
		group.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
	}
	if old != nil {
		group = old.DeepCopy()
		minCount = max(minCount, 1)
	}
	switch policy := &group.Spec.SchedulingPolicy; {
	case old != nil && old.Spec.SchedulingPolicy.Basic != nil:
	case minCount == 0:
		policy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
	default:
		policy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: minCount}
	}
	group.Generation++
	w.writeGroup(old, group)
}

func (w *groupWorld) deletePod() {
	if names := sortedKeys(w.pods); len(names) > 0 {
		w.writePod(w.pods[names[w.draw(len(names), "deleted")]], nil)
	}
}

func (w *groupWorld) showEvent() bool {
	if len(w.events) == 0 {
		return false
	}
	show := w.events[0]
	w.events = w.events[1:]
	show()
	return true
}

// decide decides on the attempt that the queue pops, and checks that no gang is placed in part.
func (w *groupWorld) decide() bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a := w.scheduler.queue.Pop(ctx)
	if a == nil {
		return false
	}
	before, tasks := w.placed(), len(w.scheduler.tasks.queue)
	w.scheduler.decide(context.Background(), a)
	w.watchVictims(a, tasks)
	after := w.placed()
	for name, pods := range after {
		group := w.groups[name]
		if group == nil || group.Spec.SchedulingPolicy.Gang == nil || pods == before[name] {
			continue
		}
		known, _ := w.scheduler.groups.get(types.NamespacedName{Namespace: "default", Name: name})
		if known == nil || known.UID != group.UID || known.Generation != group.Generation {
			continue // it was decided on by an earlier minCount
		}
		if minCount := int(group.Spec.SchedulingPolicy.Gang.MinCount); pods < minCount {
			w.t.Fatalf("gang %s was placed in part: %d of its pods have a node, and minCount is %d", name, pods, minCount)
		}
	}
	return true
}

// placed returns the numbers of the pods with a node that the scheduler knows, by group.
func (w *groupWorld) placed() map[string]int {
	byGroup := map[string]int{}
	for key, group := range w.scheduler.groups.byKey {
		for uid := range group.pods {
			if w.scheduler.cache.HasPod(uid) {
				byGroup[key.Name]++
			}
		}
	}
	return byGroup
}

// runTask runs one of the tasks that wait.
func (w *groupWorld) runTask() bool {
	tasks := w.scheduler.tasks
	if len(tasks.queue) == 0 {
		return false
	}
	i := w.draw(len(tasks.queue), "task")
	task := tasks.queue[i]
	tasks.queue = slices.Delete(tasks.queue, i, i+1)
	task(context.Background())
	return true
}

// pass lets time pass after all present work, and does the work that becomes ready meanwhile.
func (w *groupWorld) pass(d time.Duration) {
	for w.showEvent() || w.decide() || w.runTask() {
	}
	if !w.ledger.Idle() {
		w.t.Fatalf("nothing is left to do, but in flight is: %s", w.ledger)
	}
	passed := make(chan error, 1)
	go func() { passed <- w.clock.Advance(context.Background(), d) }()
	for {
		select {
		case err := <-passed:
			w.must(err)
			return
		default:
			for w.showEvent() || w.decide() || w.runTask() {
			}
			stdruntime.Gosched()
		}
	}
}

// settle does all that there is to do, for a minute of virtual time: longer than any back-off, and shorter than the time after
// which the queue retries pods without an event.
func (w *groupWorld) settle() {
	w.refusing = false
	w.pass(time.Minute)
	for w.endVictim() {
		w.pass(time.Minute)
	}
}

// rightInTheEnd checks that all pods have a node that could have one.
func (w *groupWorld) rightInTheEnd() {
	if w.ranked {
		w.rankedRightInTheEnd()
		return
	}
	free := modelNodes * nodeSlots
	waiting, bound := map[string]int{}, map[string]int{}
	for _, pod := range w.pods {
		name := framework.GroupOf(pod).Name
		if pod.Spec.NodeName != "" {
			free--
			bound[name]++
		} else {
			waiting[name]++
		}
	}
	for _, name := range sortedKeys(waiting) {
		need := 1
		if name != "" {
			group := w.groups[name]
			if group == nil {
				continue
			}
			if gang := group.Spec.SchedulingPolicy.Gang; gang != nil {
				need = max(1, int(gang.MinCount)-bound[name])
			}
		}
		if waiting[name] >= need && free >= need {
			w.t.Fatalf("group %q is not placed although it fits: %d pods wait, %d are needed, and there is room for %d", name, waiting[name], need, free)
		}
	}
}

func runGroups(mistake groupMistake, ranked bool) func(t *rapid.T) {
	return func(t *rapid.T) {
		w := newGroupWorld(t, mistake)
		w.ranked = ranked
		defer w.close()
		for _, node := range st.Nodes(modelNodes, st.Allocatable("cpu", fmt.Sprint(nodeSlots), "pods", "10")) {
			w.scheduler.queue.Notify(w.scheduler.cache.SetNode(node))
		}
		for range groupHistory {
			w.step()
		}
		w.settle()
		w.rightInTheEnd()
	}
}

// TestGangsArePlacedAtOnceOrNotAtAll checks histories of pods and PodGroups: no gang is ever placed in part, and in the end each
// group that fits has been placed, so that gangs do not block each other.
func TestGangsArePlacedAtOnceOrNotAtAll(t *testing.T) {
	rapid.Check(t, runGroups(groupMistake{}, false))
}

func TestPlantedGroupMistakes(t *testing.T) {
	for name, planted := range map[string]struct {
		mistake groupMistake
		want    string
	}{
		"a gang is taken for less": {groupMistake{seen: func(g *schedulingv1beta1.PodGroup) {
			if gang := g.Spec.SchedulingPolicy.Gang; gang != nil {
				gang.MinCount = 1
			}
		}}, "was placed in part"},
		"no event helps": {groupMistake{hint: func(queue.Waiting, framework.ClusterEvent) bool { return false }}, "is not placed although it fits"},
	} {
		t.Run(name, func(t *testing.T) { modeltest.MustBreak(t, planted.want, runGroups(planted.mistake, false)) })
	}
}
