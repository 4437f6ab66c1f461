package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
)

// podGroups holds the PodGroups and their pods, with and without a node. Its lock is taken after the queue's,
// never before. A nil podGroups holds no group.
type podGroups struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName]*podGroup
}

// podGroup exists while its PodGroup does, or one of its pods.
type podGroup struct {
	// object is nil while the PodGroup does not exist.
	object *schedulingv1beta1.PodGroup
	// pods are all that have not ended, apart from those without a node that are other schedulers'.
	pods map[types.UID]*corev1.Pod
}

func newPodGroups() *podGroups {
	return &podGroups{byKey: map[types.NamespacedName]*podGroup{}}
}

func (g *podGroups) getLocked(key types.NamespacedName) *podGroup {
	group := g.byKey[key]
	if group == nil {
		group = &podGroup{pods: map[types.UID]*corev1.Pod{}}
		g.byKey[key] = group
	}
	return group
}

func (g *podGroups) forgetIfEmptyLocked(key types.NamespacedName) {
	if group := g.byKey[key]; group != nil && group.object == nil && len(group.pods) == 0 {
		delete(g.byKey, key)
	}
}

// setPod stores the state of a pod. It returns false if the pod has no group.
func (g *podGroups) setPod(pod *corev1.Pod) bool {
	key := framework.GroupOf(pod)
	if g == nil || key.Name == "" {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.getLocked(key).pods[pod.UID] = pod
	return true
}

// removePod removes a pod that is deleted or has ended.
func (g *podGroups) removePod(pod *corev1.Pod) {
	key := framework.GroupOf(pod)
	if g == nil || key.Name == "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if group := g.byKey[key]; group != nil {
		delete(group.pods, pod.UID)
		g.forgetIfEmptyLocked(key)
	}
}

// setObject stores the state of a PodGroup, unless a later one is known. It reports whether the group may be
// scheduled with fewer pods than before.
func (g *podGroups) setObject(object *schedulingv1beta1.PodGroup) (helps bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	group := g.getLocked(keyOf(object))
	old := group.object
	if old != nil && old.UID == object.UID && versionOf(old) > versionOf(object) {
		return false // as it was written
	}
	group.object = object
	return old == nil || old.UID != object.UID || plugins.MinCount(object) < plugins.MinCount(old)
}

// removeObject removes a PodGroup that is deleted.
func (g *podGroups) removeObject(object *schedulingv1beta1.PodGroup) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := keyOf(object)
	if group := g.byKey[key]; group != nil && group.object != nil && group.object.UID == object.UID {
		group.object = nil
		g.forgetIfEmptyLocked(key)
	}
}

// Ready implements queue.Groups.
func (g *podGroups) Ready(key types.NamespacedName) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	group := g.byKey[key]
	return group != nil && group.object != nil && len(group.pods) >= plugins.MinCount(group.object)
}

// Priority implements queue.Groups.
func (g *podGroups) Priority(key types.NamespacedName) int32 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if group := g.byKey[key]; group != nil && group.object != nil {
		return priorityOf(group.object)
	}
	return 0
}

// victim returns the properties of a PodGroup that preemption respects.
func (g *podGroups) victim(key types.NamespacedName) (framework.Group, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	group := g.byKey[key]
	if group == nil || group.object == nil {
		return framework.Group{}, false
	}
	mode := group.object.Spec.DisruptionMode
	return framework.Group{Priority: priorityOf(group.object), Whole: mode != nil && mode.All != nil}, true
}

func priorityOf(object *schedulingv1beta1.PodGroup) int32 {
	return ptr.Deref(object.Spec.Priority, 0)
}

// get returns a PodGroup and its pods, in the order of their names; nil: it does not exist.
func (g *podGroups) get(key types.NamespacedName) (*schedulingv1beta1.PodGroup, []*corev1.Pod) {
	g.mu.Lock()
	defer g.mu.Unlock()
	group := g.byKey[key]
	if group == nil || group.object == nil {
		return nil, nil
	}
	pods := make([]*corev1.Pod, 0, len(group.pods))
	for _, pod := range group.pods {
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID)) })
	return group.object, pods
}

// checkGroup returns an error unless all pods of a group have the same scheduler and preemption policy, and the
// group's priority.
func checkGroup(object *schedulingv1beta1.PodGroup, pods []*corev1.Pod) error {
	policy := func(pod *corev1.Pod) corev1.PreemptionPolicy {
		return ptr.Deref(pod.Spec.PreemptionPolicy, corev1.PreemptLowerPriority)
	}
	priority := priorityOf(object)
	for _, pod := range pods {
		first := pods[0]
		if pod.Spec.SchedulerName != first.Spec.SchedulerName {
			return fmt.Errorf("all pods in a single pod group should have the same .spec.schedulerName set, got: %q and %q", pod.Spec.SchedulerName, first.Spec.SchedulerName)
		}
		if p := schedulinghelper.PodPriority(pod); p != priority {
			return fmt.Errorf("all pods in a single pod group should have the same priority as the pod group's priority, got %d and %d", p, priority)
		}
		if policy(pod) != policy(first) {
			return fmt.Errorf("all pods in a single pod group should have the same preemption policy, got %v and %v", policy(pod), policy(first))
		}
	}
	return nil
}
