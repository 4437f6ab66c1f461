package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// podConditions returns the conditions of a pod whose container statuses are already set: first the
// conditions that other components own, then the kubelet's own in upstream's order.
func podConditions(pod *corev1.Pod, s *State, status *corev1.PodStatus, now time.Time) []corev1.PodCondition {
	conditions := make([]corev1.PodCondition, 0, len(pod.Status.Conditions)+5)
	for _, c := range pod.Status.Conditions {
		if !OwnCondition(c.Type) && (c.Type != corev1.DisruptionTarget || !s.disruptedNow()) {
			conditions = append(conditions, c)
		}
	}
	conditions = append(conditions, s.resizeConditions()...)
	containersReady := containersReadyCondition(pod, status)
	conditions = openObserved(s, conditions, containersReady.Status, now)
	own := []corev1.PodCondition{
		sandboxCondition(pod, s),
		initializedCondition(pod, s, status),
		readyCondition(pod, containersReady, conditions),
		containersReady,
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
	}
	if couldRestartAll(pod) {
		own = append(own, restartingCondition(pod, s, status.Phase))
	}
	if s.disruptedNow() {
		own = append(own, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet, Message: s.message})
	}
	for _, c := range own {
		if c.Type != corev1.AllContainersRestarting {
			c.ObservedGeneration = pod.Generation
		}
		c.LastTransitionTime = APITime(now)
		for i := range pod.Status.Conditions {
			if old := &pod.Status.Conditions[i]; old.Type == c.Type && old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
		}
		conditions = append(conditions, c)
	}
	return conditions
}

// openObserved adds the conditions of readiness gates that were observed to open, unless the pod has them.
func openObserved(s *State, conditions []corev1.PodCondition, ready corev1.ConditionStatus, now time.Time) []corev1.PodCondition {
	if ready != corev1.ConditionTrue {
		return conditions
	}
	for _, gate := range s.gates {
		if !slices.ContainsFunc(conditions, func(c corev1.PodCondition) bool { return c.Type == gate }) {
			conditions = append(conditions, corev1.PodCondition{Type: gate, Status: corev1.ConditionTrue, LastTransitionTime: APITime(now)})
		}
	}
	return conditions
}

// disruptedNow reports whether the pod has ended by a disruption. Upstream's kubelet adds the
// condition with the final phase.
func (s *State) disruptedNow() bool { return s.disrupted && s.Ended }

// OwnCondition reports whether the kubelet decides about the conditions of a type.
func OwnCondition(t corev1.PodConditionType) bool {
	switch t {
	case corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
		corev1.AllContainersRestarting, corev1.PodResizePending, corev1.PodResizeInProgress:
		return true
	}
	return false
}

// sandboxCondition reports whether the pod's sandbox runs. Only a pod that has had one has an address.
func sandboxCondition(pod *corev1.Pod, s *State) corev1.PodCondition {
	if s.Sandbox && !s.Ended {
		return corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue}
	}
	message := "no pod sandbox exists"
	if s.Sandbox || pod.Status.PodIP != "" {
		message = "pod sandbox is not ready"
	}
	return corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse, Reason: "PodSandboxNotReady", Message: message}
}

func initializedCondition(pod *corev1.Pod, s *State, status *corev1.PodStatus) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
	if status.Phase == corev1.PodSucceeded {
		c.Reason = "PodCompleted"
		return c
	}
	if s.initialized || len(pod.Spec.InitContainers) == 0 || wasInitialized(pod) {
		return c
	}
	var incomplete []string
	for i := range status.InitContainerStatuses {
		cs := &status.InitContainerStatuses[i]
		done := cs.Ready
		if sidecar := cs.State.Running != nil && cs.Started != nil && *cs.Started; sidecar {
			done = true
		}
		if !done {
			incomplete = append(incomplete, cs.Name)
		}
	}
	c.Status, c.Reason = corev1.ConditionFalse, "ContainersNotInitialized"
	c.Message = containerList("containers with incomplete status", incomplete)
	return c
}

// wasInitialized reports whether the pod's init containers have completed once: upstream's kubelet
// keeps the condition while they run again.
func wasInitialized(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodInitialized {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func containersReadyCondition(pod *corev1.Pod, status *corev1.PodStatus) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionFalse}
	switch status.Phase {
	case corev1.PodSucceeded:
		c.Reason = "PodCompleted"
		return c
	case corev1.PodFailed:
		c.Reason = "PodFailed"
		return c
	}
	var unready []string
	for i := range status.InitContainerStatuses {
		policy := pod.Spec.InitContainers[i].RestartPolicy
		sidecar := policy != nil && *policy == corev1.ContainerRestartPolicyAlways
		if cs := &status.InitContainerStatuses[i]; sidecar && !cs.Ready {
			unready = append(unready, cs.Name)
		}
	}
	for i := range pod.Spec.Containers {
		for j := range status.ContainerStatuses {
			if cs := &status.ContainerStatuses[j]; cs.Name == pod.Spec.Containers[i].Name && !cs.Ready {
				unready = append(unready, cs.Name)
			}
		}
	}
	if len(unready) > 0 {
		c.Reason = "ContainersNotReady"
		c.Message = containerList("containers with unready status", unready)
		return c
	}
	c.Status = corev1.ConditionTrue
	return c
}

// readyCondition derives Ready from ContainersReady and the readiness gates (KEP-580).
func readyCondition(pod *corev1.Pod, containersReady corev1.PodCondition, others []corev1.PodCondition) corev1.PodCondition {
	c := containersReady
	c.Type = corev1.PodReady
	if c.Status != corev1.ConditionTrue {
		return c
	}
	var closed []string
	for _, gate := range pod.Spec.ReadinessGates {
		found := false
		for i := range others {
			if others[i].Type != gate.ConditionType {
				continue
			}
			found = true
			if others[i].Status != corev1.ConditionTrue {
				closed = append(closed, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, others[i].Status))
			}
		}
		if !found {
			closed = append(closed, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		}
	}
	if len(closed) > 0 {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "ReadinessGatesNotReady", strings.Join(closed, ", ")
	}
	return c
}

func containerList(prefix string, names []string) string {
	return prefix + ": [" + strings.Join(names, " ") + "]"
}
