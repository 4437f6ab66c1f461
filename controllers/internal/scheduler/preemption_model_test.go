package scheduler

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
)

// rank sets the priority of a group, and of its pods, if the world has priorities.
func (w *groupWorld) rank(priority **int32, number int) {
	if w.ranked {
		value := int32(number)
		*priority = &value
	}
}

// preempt handles the API requests to patch a pod's status, where only the condition of victims matters, and to
// delete a pod. Pods on nodes take their time to end.
func (w *groupWorld) preempt(action clienttesting.Action) error {
	switch action := action.(type) {
	case clienttesting.PatchAction:
		pod := w.pods[action.GetName()]
		var sent corev1.Pod
		w.must(json.Unmarshal(action.GetPatch(), &sent))
		i := slices.IndexFunc(sent.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
		if pod == nil || i < 0 {
			return nil
		}
		written := pod.DeepCopy()
		written.Status.Conditions = []corev1.PodCondition{sent.Status.Conditions[i]}
		w.writePod(pod, written)
	case clienttesting.DeleteAction:
		pod := w.pods[action.GetName()]
		if pod == nil {
			return nil
		}
		w.deleted = append(w.deleted, pod)
		if pod.Spec.NodeName == "" {
			w.writePod(pod, nil)
			return nil
		}
		terminating := pod.DeepCopy()
		now := metav1.NewTime(w.clock.Now())
		terminating.DeletionTimestamp = &now
		w.writePod(pod, terminating)
	}
	return nil
}

// endVictim removes a pod that is being deleted.
func (w *groupWorld) endVictim() bool {
	var names []string
	for _, name := range sortedKeys(w.pods) {
		if w.pods[name].DeletionTimestamp != nil {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return false
	}
	w.writePod(w.pods[names[w.draw(len(names), "ended")]], nil)
	return true
}

// preemptorView is the scheduler's knowledge when it decided.
type preemptorView struct {
	preemptor string
	priority  int32
	needed    int
	// on are the pods on each node, units the pods that are preempted together with each pod, and priorities
	// the priorities that count for the pods.
	on         map[string][]types.UID
	units      map[types.UID][]types.UID
	priorities map[types.UID]int32
}

// watchVictims checks the deletions by the tasks of a decision: the preemptor fits afterwards, and units are
// deleted as a whole.
func (w *groupWorld) watchVictims(a *queue.Attempt, first int) {
	if !w.ranked {
		return
	}
	s := w.scheduler
	v := &preemptorView{on: map[string][]types.UID{}, units: map[types.UID][]types.UID{}, priorities: map[types.UID]int32{}}
	switch {
	case a.Info == nil:
		object, pods := s.groups.get(a.Group)
		if object == nil {
			return
		}
		v.preemptor, v.priority, v.needed = a.Group.Name, priorityOf(object), max(1, plugins.MinCount(object)-len(s.scheduled(pods)))
	default:
		v.preemptor, v.priority, v.needed = a.Info.Pod.Name, a.Info.Priority, 1
	}
	wholes := map[types.NamespacedName][]types.UID{}
	for _, n := range s.snapshot.Nodes() {
		for _, p := range n.Pods {
			uid, key := p.Pod.UID, framework.GroupOf(p.Pod)
			v.on[n.Name()] = append(v.on[n.Name()], uid)
			v.priorities[uid] = p.Priority
			if g, ok := s.groups.victim(key); ok {
				v.priorities[uid] = g.Priority
				known, _ := s.groups.get(key)
				group := w.groups[key.Name]
				if group != nil && known != nil && group.UID == known.UID && group.Spec.DisruptionMode != nil {
					wholes[key] = append(wholes[key], uid)
				}
			}
		}
	}
	for _, all := range wholes {
		for _, uid := range all {
			v.units[uid] = all
		}
	}
	for i := min(first, len(s.tasks.queue)); i < len(s.tasks.queue); i++ {
		task := s.tasks.queue[i]
		s.tasks.queue[i] = func(ctx context.Context) {
			w.deleted = nil
			task(ctx)
			w.checkVictims(v)
		}
	}
}

// checkVictims checks the pods that a task has deleted.
func (w *groupWorld) checkVictims(v *preemptorView) {
	if len(w.deleted) == 0 {
		return
	}
	going := map[types.UID]bool{} // or gone
	left := map[types.UID]bool{}
	for _, pod := range w.pods {
		left[pod.UID] = pod.DeletionTimestamp == nil
	}
	for uid := range v.priorities {
		going[uid] = !left[uid]
	}
	for _, pod := range w.deleted {
		if p, known := v.priorities[pod.UID]; !known || p >= v.priority {
			w.t.Fatalf("%s of priority %d has preempted %s of priority %d", v.preemptor, v.priority, pod.Name, p)
		}
		for _, other := range v.units[pod.UID] {
			if !going[other] {
				w.t.Fatalf("%s has preempted %s, and not %s of the same group", v.preemptor, pod.Name, other)
			}
		}
	}
	free := 0
	for i := range modelNodes {
		used := 0
		for _, uid := range v.on[nodeName(i)] {
			if !going[uid] {
				used++
			}
		}
		free += nodeSlots - used
	}
	if free < v.needed {
		w.t.Fatalf("%s has preempted %d pods, and does not fit: %d slots are free, and %d are needed", v.preemptor, len(w.deleted), free, v.needed)
	}
}

// rankedRightInTheEnd checks that no pod waits that could preempt: pods of lower priority count as free space for
// it, except on nodes that pods of its priority, or of a higher one, are nominated to.
func (w *groupWorld) rankedRightInTheEnd() {
	waiting, bound := map[string][]*corev1.Pod{}, map[string]int{}
	for _, name := range sortedKeys(w.pods) {
		pod := w.pods[name]
		of := framework.GroupOf(pod).Name
		if of == "" {
			of = "pod " + name
		}
		if pod.Spec.NodeName != "" {
			bound[of]++
		} else {
			waiting[of] = append(waiting[of], pod)
		}
	}
	for _, of := range slices.Sorted(maps.Keys(waiting)) {
		pods := waiting[of]
		need := 1
		if group := w.groups[framework.GroupOf(pods[0]).Name]; group != nil {
			if gang := group.Spec.SchedulingPolicy.Gang; gang != nil {
				need = max(1, int(gang.MinCount)-bound[of])
			}
		} else if framework.GroupOf(pods[0]).Name != "" {
			continue
		}
		if free := w.freeFor(pods); len(pods) >= need && free >= need {
			w.t.Fatalf("%s is not placed although it fits: %d pods wait, %d are needed, and there is room for %d", of, len(pods), need, free)
		}
	}
}

// freeFor returns the number of slots that pods may have, by preemption if need be.
func (w *groupWorld) freeFor(pods []*corev1.Pod) int {
	free := 0
	for i := range modelNodes {
		used := 0
		for _, pod := range w.pods {
			if pod.Spec.NodeName == nodeName(i) && w.rankOf(pod) >= w.rankOf(pods[0]) {
				used++
			}
		}
		for _, p := range w.scheduler.nominator.ByNode()[nodeName(i)] {
			own := slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.UID == p.Pod.UID })
			if !own && p.Priority >= *pods[0].Spec.Priority {
				used++
			}
		}
		free += max(0, nodeSlots-used)
	}
	return free
}

// rankOf returns the priority that counts for a pod.
func (w *groupWorld) rankOf(pod *corev1.Pod) int32 {
	if group := w.groups[framework.GroupOf(pod).Name]; group != nil {
		return priorityOf(group)
	}
	return *pod.Spec.Priority
}

func nodeName(i int) string { return "node-" + string(rune('0'+i)) }

// TestPreemptionsAreWhole checks histories of pods and PodGroups of different priorities: the deletions make room for
// the whole preemptor, PodGroups with the disruption mode "all" go as a whole, and in the end no pod waits that could
// preempt.
func TestPreemptionsAreWhole(t *testing.T) {
	rapid.Check(t, runGroups(groupMistake{}, true))
}

func TestPlantedPreemptionMistakes(t *testing.T) {
	for name, planted := range map[string]struct {
		mistake groupMistake
		want    string
	}{
		"a gang is taken for less": {groupMistake{seen: func(g *schedulingv1beta1.PodGroup) {
			if gang := g.Spec.SchedulingPolicy.Gang; gang != nil {
				gang.MinCount = 1
			}
		}}, "was placed in part"},
		"a gang is taken for pods": {groupMistake{seen: func(g *schedulingv1beta1.PodGroup) { g.Spec.DisruptionMode = nil }}, "of the same group"},
		"no event helps":           {groupMistake{hint: func(queue.Waiting, framework.ClusterEvent) bool { return false }}, "is not placed although it fits"},
	} {
		t.Run(name, func(t *testing.T) { modeltest.MustBreak(t, planted.want, runGroups(planted.mistake, true)) })
	}
}
