package lifecycle

import (
	"encoding/json"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"minikcm.dev/minikcm/internal/podspec"
)

// resizeState is the progress of an in-place resize (KEP-1287).
type resizeState struct {
	// Pending is the reason why the node has not granted the resources of the pod's generation
	// pendingFor, since pendingSince; empty if no resize is pending.
	Pending, message string
	pendingFor       int64
	pendingSince     time.Time
	// going is the generation whose resources are granted but not yet applied to all
	// containers, since goingSince; 0 if there is none.
	going      int64
	goingSince time.Time
}

// resizable reports whether a container's resources may change while the pod runs.
func resizable(kind podspec.Kind) bool {
	return kind == podspec.AppContainer || kind == podspec.SidecarContainer
}

// WantsResize reports whether the pod's spec differs from the resources that the node has
// granted.
func WantsResize(pod *corev1.Pod, st *State) bool {
	if st.Admitted.IsZero() || st.Ended || st.terminating || pod.DeletionTimestamp != nil || len(st.Containers) == 0 {
		return false
	}
	for i, ref := range podspec.Containers(pod) {
		if i < len(st.Containers) && resizable(ref.Kind) && !sameResources(&ref.Resources, &st.Containers[i].granted) {
			return true
		}
	}
	return false
}

func sameResources(a, b *corev1.ResourceRequirements) bool {
	return SameAmounts(a.Requests, b.Requests) && SameAmounts(a.Limits, b.Limits)
}

func SameAmounts(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}

// resize takes over newly granted resources, or records why they are not granted. A container
// gets them while it runs, or by a restart if its resizePolicy requires one.
func (s *stepper) resize() {
	st := &s.State
	if !WantsResize(s.Pod, st) {
		st.Resize.Pending = ""
		return
	}
	if why := s.ResizeRejected; why.Reason != "" {
		if st.Resize.Pending != why.Reason || st.Resize.pendingFor != s.Pod.Generation {
			if st.Resize.Pending == "" {
				st.Resize.pendingSince = s.Now
			}
			s.report(nil, corev1.EventTypeWarning, "ResizeDeferred", "Pod resize "+why.Reason+": "+s.resizeSummary(why.Message))
		}
		st.Resize.Pending, st.Resize.message, st.Resize.pendingFor = why.Reason, why.Message, s.Pod.Generation
		return
	}
	st.Resize = resizeState{going: s.Pod.Generation, goingSince: s.Now}
	s.report(nil, corev1.EventTypeNormal, "ResizeStarted", "Pod resize started: "+s.resizeSummary(""))
	for i := range st.Containers {
		if c, ref := &st.Containers[i], s.refs[i]; resizable(c.Kind) {
			c.granted = ref.Resources
			s.give(c, ref)
		}
	}
}

// give applies the granted resources to a running container.
func (s *stepper) give(c *Container, ref podspec.Container) {
	if c.Phase != Running || sameResources(&c.has, &c.granted) {
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
	s.report(&ref, corev1.EventTypeNormal, "Killing", "Container "+c.Name+" resize requires restart")
	s.signal(c, ref, s.Now.Add(s.grace()))
}

// needsRestart reports whether the container's resizePolicy requires a restart for this change.
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

// endResize completes the resize once all containers have the granted resources.
func (s *stepper) endResize() {
	st := &s.State
	if st.Resize.going == 0 {
		return
	}
	for i := range st.Containers {
		c := &st.Containers[i]
		if resizable(c.Kind) && c.Phase != Created && !st.Ended && !sameResources(&c.has, &c.granted) {
			return
		}
	}
	s.report(nil, corev1.EventTypeNormal, "ResizeCompleted", "Pod resize completed: "+s.resizeSummary(""))
	st.Resize.going = 0
}

// resizeSummary is the JSON summary of the requested resources in upstream's resize events.
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
	}{Generation: s.Pod.Generation, Error: why}
	for _, ref := range s.refs {
		switch one := (allocation{ref.Name, ref.Resources}); ref.Kind {
		case podspec.InitContainer, podspec.SidecarContainer:
			summary.InitContainers = append(summary.InitContainers, one)
		case podspec.AppContainer:
			summary.Containers = append(summary.Containers, one)
		}
	}
	data, err := json.Marshal(summary)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// resizeConditions returns the conditions of a resize in progress.
func (st *State) resizeConditions() []corev1.PodCondition {
	if st.Ended {
		return nil
	}
	var conditions []corev1.PodCondition
	if r := &st.Resize; r.Pending != "" {
		conditions = append(conditions, corev1.PodCondition{
			Type: corev1.PodResizePending, Status: corev1.ConditionTrue, ObservedGeneration: r.pendingFor,
			Reason: corev1.PodReasonDeferred, Message: r.message,
			LastProbeTime: APITime(r.pendingSince), LastTransitionTime: APITime(r.pendingSince),
		})
	}
	if r := &st.Resize; r.going != 0 {
		conditions = append(conditions, corev1.PodCondition{
			Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue, ObservedGeneration: r.going,
			LastProbeTime: APITime(r.goingSince), LastTransitionTime: APITime(r.goingSince),
		})
	}
	return conditions
}

// adoptResources restores the container's resources from its status.
func (c *Container) adoptResources(status *corev1.ContainerStatus) {
	if !resizable(c.Kind) || status.Resources == nil {
		return
	}
	c.has = corev1.ResourceRequirements{Limits: status.Resources.Limits, Requests: status.Resources.Requests, Claims: c.granted.Claims}
	if !SameAmounts(status.AllocatedResources, c.granted.Requests) {
		c.granted = c.has
	}
}

// adoptResize restores a resize that an earlier process began.
func adoptResize(pod *corev1.Pod) resizeState {
	var r resizeState
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodResizeInProgress && c.Status == corev1.ConditionTrue {
			r.going, r.goingSince = c.ObservedGeneration, c.LastTransitionTime.Time
		}
	}
	return r
}
