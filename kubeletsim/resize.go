package kubeletsim

import (
	"encoding/json"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// resizeState is how a change of a running pod's resources goes (KEP-1287).
type resizeState struct {
	// pending is why the node does not have what is asked for, since pendingSince, by the
	// pod's generation pendingFor; empty: nothing is asked for that it has not.
	pending, message string
	pendingFor       int64
	pendingSince     time.Time
	// going is the generation whose resources are reserved and that not all containers
	// have, since goingSince; 0: none.
	going      int64
	goingSince time.Time
}

// resizable is whether a container's resources may change while the pod runs.
func resizable(kind containerKind) bool { return kind == appContainer || kind == sidecarContainer }

// wantsResize is whether the pod asks for something else than the node has reserved.
func wantsResize(pod *corev1.Pod, st *podState) bool {
	if st.admitted.IsZero() || st.ended || st.terminating || pod.DeletionTimestamp != nil || len(st.containers) == 0 {
		return false
	}
	for i, ref := range containersOf(pod) {
		if i < len(st.containers) && resizable(ref.kind) && !sameResources(&ref.Resources, &st.containers[i].granted) {
			return true
		}
	}
	return false
}

func sameResources(a, b *corev1.ResourceRequirements) bool {
	return sameAmounts(a.Requests, b.Requests) && sameAmounts(a.Limits, b.Limits)
}

func sameAmounts(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}

// resize reserves what a pod asks for by now, if that is something else, or says why not.
func (k *Kubelet) resize(n *node, e *podEntry, pod *corev1.Pod) rejection {
	if !wantsResize(pod, &e.state) {
		return rejection{}
	}
	object, _ := k.nodeLister.Get(n.name)
	why := n.resize(pod, object)
	if why.reason == "" {
		k.wakeWaiting(n) // it may be less than before
	}
	return why
}

// release gives back what a pod had reserved.
func (k *Kubelet) release(n *node, pod types.UID) {
	n.release(pod)
	k.wakeWaiting(n)
}

func (k *Kubelet) wakeWaiting(n *node) {
	for _, uid := range n.waiters() {
		k.loop.Add(podKey(string(uid)))
	}
}

// resize takes up what the node has reserved, or notes that it has not. Containers get it
// while they run, or by a restart where their policy wants one.
func (s *stepper) resize() {
	st := &s.state
	if !wantsResize(s.pod, st) {
		st.resize.pending = ""
		return
	}
	if why := s.unfit; why.reason != "" {
		if st.resize.pending != why.reason || st.resize.pendingFor != s.pod.Generation {
			if st.resize.pending == "" {
				st.resize.pendingSince = s.now
			}
			s.report(nil, corev1.EventTypeWarning, "ResizeDeferred", "Pod resize "+why.reason+": "+s.resizeSummary(why.message))
		}
		st.resize.pending, st.resize.message, st.resize.pendingFor = why.reason, why.message, s.pod.Generation
		return
	}
	st.resize = resizeState{going: s.pod.Generation, goingSince: s.now}
	s.report(nil, corev1.EventTypeNormal, "ResizeStarted", "Pod resize started: "+s.resizeSummary(""))
	for i := range st.containers {
		if c, ref := &st.containers[i], s.refs[i]; resizable(c.kind) {
			c.granted = ref.Resources
			s.give(c, ref)
		}
	}
}

// give lets a running container have what is reserved for it.
func (s *stepper) give(c *container, ref containerRef) {
	if c.phase != running || sameResources(&c.has, &c.granted) {
		return
	}
	if !needsRestart(ref.Container, &c.has, &c.granted) {
		c.has = c.granted
		return
	}
	if c.changed {
		return
	}
	c.changed = true
	s.report(&ref, corev1.EventTypeNormal, "Killing", "Container "+c.name+" resize requires restart")
	s.signal(c, ref, s.now.Add(s.grace()))
}

// needsRestart is whether the container's policy wants a restart for what changes.
func needsRestart(c *corev1.Container, has, granted *corev1.ResourceRequirements) bool {
	for _, policy := range c.ResizePolicy {
		if policy.RestartPolicy != corev1.RestartContainer {
			continue
		}
		for _, lists := range [][2]corev1.ResourceList{{has.Requests, granted.Requests}, {has.Limits, granted.Limits}} {
			before, after := lists[0][policy.ResourceName], lists[1][policy.ResourceName]
			if before.Cmp(after) != 0 {
				return true
			}
		}
	}
	return false
}

// endResize notes that all containers have what they are to have.
func (s *stepper) endResize() {
	st := &s.state
	if st.resize.going == 0 {
		return
	}
	for i := range st.containers {
		c := &st.containers[i]
		if resizable(c.kind) && c.phase != created && !st.ended && !sameResources(&c.has, &c.granted) {
			return
		}
	}
	s.report(nil, corev1.EventTypeNormal, "ResizeCompleted", "Pod resize completed: "+s.resizeSummary(""))
	st.resize.going = 0
}

// resizeSummary is how upstream's events tell what a pod asks for.
func (s *stepper) resizeSummary(why string) string {
	type allocation struct {
		Name      string                      `json:"name"`
		Resources corev1.ResourceRequirements `json:"resources,omitempty"` // as upstream writes it
	}
	summary := struct {
		InitContainers []allocation `json:"initContainers,omitempty"`
		Containers     []allocation `json:"containers,omitempty"`
		Generation     int64        `json:"generation"`
		Error          string       `json:"error,omitempty"`
	}{Generation: s.pod.Generation, Error: why}
	for _, ref := range s.refs {
		switch one := (allocation{ref.Name, ref.Resources}); ref.kind {
		case initContainer, sidecarContainer:
			summary.InitContainers = append(summary.InitContainers, one)
		case appContainer:
			summary.Containers = append(summary.Containers, one)
		}
	}
	data, err := json.Marshal(summary)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// resizeConditions are those that tell of a resize under way.
func (st *podState) resizeConditions() []corev1.PodCondition {
	if st.ended {
		return nil
	}
	var conditions []corev1.PodCondition
	if r := &st.resize; r.pending != "" {
		conditions = append(conditions, corev1.PodCondition{
			Type: corev1.PodResizePending, Status: corev1.ConditionTrue, ObservedGeneration: r.pendingFor,
			Reason: corev1.PodReasonDeferred, Message: r.message,
			LastProbeTime: seconds(r.pendingSince), LastTransitionTime: seconds(r.pendingSince),
		})
	}
	if r := &st.resize; r.going != 0 {
		conditions = append(conditions, corev1.PodCondition{
			Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue, ObservedGeneration: r.going,
			LastProbeTime: seconds(r.goingSince), LastTransitionTime: seconds(r.goingSince),
		})
	}
	return conditions
}

// adoptResources takes up what the API says that a container has.
func (c *container) adoptResources(status *corev1.ContainerStatus) {
	if !resizable(c.kind) || status.Resources == nil {
		return
	}
	c.has = corev1.ResourceRequirements{Limits: status.Resources.Limits, Requests: status.Resources.Requests, Claims: c.granted.Claims}
	if !sameAmounts(status.AllocatedResources, c.granted.Requests) {
		c.granted = c.has
	}
}

// adoptResize takes up a resize that an earlier run of the process had begun.
func adoptResize(pod *corev1.Pod) resizeState {
	var r resizeState
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodResizeInProgress && c.Status == corev1.ConditionTrue {
			r.going, r.goingSince = c.ObservedGeneration, c.LastTransitionTime.Time
		}
	}
	return r
}
