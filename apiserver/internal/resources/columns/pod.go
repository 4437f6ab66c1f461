package columns

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const (
	reasonCompleted   = "Completed"
	reasonNotReady    = "NotReady"
	reasonTerminating = "Terminating"
	reasonUnknown     = "Unknown"
	// reasonNodeLost is the status reason of a pod whose node no longer responds.
	reasonNodeLost = "NodeLost"
	// reasonPodInitializing is the waiting reason of a container while init containers run.
	reasonPodInitializing = "PodInitializing"
)

// Pod is the Table of core/v1 Pods.
func Pod() Table {
	return table(podCells,
		nameColumn(),
		text("Ready", "How many of the pod's containers are ready, of how many that have to be."),
		text("Status", "What the pod is doing, from its phase and the states of its containers."),
		text("Restarts", "How often the pod's containers were restarted, and how long ago the last time was."),
		ageColumn(),
		wide(text("IP", corev1.PodStatus{}.SwaggerDoc()["podIP"])),
		wide(text("Node", corev1.PodSpec{}.SwaggerDoc()["nodeName"])),
		wide(text("Nominated Node", corev1.PodStatus{}.SwaggerDoc()["nominatedNodeName"])),
		wide(text("Readiness Gates", corev1.PodSpec{}.SwaggerDoc()["readinessGates"])),
	)
}

// PodTemplate is the Table of core/v1 PodTemplates.
func PodTemplate() Table {
	return table(func(t *corev1.PodTemplate, _ time.Time) []any {
		names, images := containerCells(t.Template.Spec.Containers)
		return []any{t.Name, names, images, labels.FormatLabels(t.Template.Labels)}
	},
		nameColumn(),
		text("Containers", "The names of the containers in the pod template."),
		text("Images", "The images of the containers in the pod template."),
		text("Pod Labels", "The labels that pods made from the template get."),
	)
}

func podCells(pod *corev1.Pod, now time.Time) []any {
	s := summarizePod(pod)
	ip := ""
	if len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	return []any{
		pod.Name,
		fmt.Sprintf("%d/%d", s.ready, s.total),
		s.reason,
		s.restarts.String(now),
		age(pod.CreationTimestamp, now),
		orElse(ip, none),
		orElse(pod.Spec.NodeName, none),
		orElse(pod.Status.NominatedNodeName, none),
		readinessGates(pod),
	}
}

// podSummary has the values of the columns Ready, Status and Restarts.
type podSummary struct {
	ready, total int
	reason       string
	restarts     restarts
}

func summarizePod(pod *corev1.Pod) podSummary {
	s := podSummary{total: len(pod.Spec.Containers), reason: phaseReason(pod)}
	sidecars := sidecarNames(pod)
	s.total += len(sidecars)

	initializing, ofSidecars := s.addInitContainers(pod, sidecars)
	if !initializing || conditionTrue(pod, corev1.PodInitialized) {
		// Once the pod is initialized, the restarts of its ordinary init containers no
		// longer count.
		s.restarts = ofSidecars
		s.addContainers(pod)
	}

	if pod.DeletionTimestamp != nil {
		switch {
		case pod.Status.Reason == reasonNodeLost:
			s.reason = reasonUnknown
		case pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed:
			s.reason = reasonTerminating
		}
	}
	return s
}

func phaseReason(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			return c.Reason
		}
	}
	return orElse(pod.Status.Reason, string(pod.Status.Phase))
}

// sidecarNames returns the names of restartable init containers.
func sidecarNames(pod *corev1.Pod) map[string]bool {
	var names map[string]bool
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			if names == nil {
				names = map[string]bool{}
			}
			names[c.Name] = true
		}
	}
	return names
}

// addInitContainers adds the init containers up to the first that blocks the pod, and
// reports whether there was one.
func (s *podSummary) addInitContainers(pod *corev1.Pod, sidecars map[string]bool) (initializing bool, ofSidecars restarts) {
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		s.restarts.add(c)
		if sidecars[c.Name] {
			ofSidecars.add(c)
		}
		terminated, waiting := c.State.Terminated, c.State.Waiting
		switch {
		case terminated != nil && terminated.ExitCode == 0:
			continue
		case sidecars[c.Name] && c.Started != nil && *c.Started:
			if c.Ready {
				s.ready++
			}
			continue
		case terminated != nil:
			s.reason = "Init:" + terminationReason(terminated)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != reasonPodInitializing:
			s.reason = "Init:" + waiting.Reason
		default:
			s.reason = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		return true, ofSidecars
	}
	return false, ofSidecars
}

// addContainers adds the containers from the last to the first, so that the pod gets the
// reason of the first container with one.
func (s *podSummary) addContainers(pod *corev1.Pod) {
	running := false
	for i := len(pod.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := &pod.Status.ContainerStatuses[i]
		s.restarts.add(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.reason = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.reason = terminationReason(c.State.Terminated)
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.reason != reasonCompleted || !running {
		return
	}
	// One container has completed and another one runs: the pod runs.
	s.reason = reasonNotReady
	if conditionTrue(pod, corev1.PodReady) {
		s.reason = string(corev1.PodRunning)
	}
}

func terminationReason(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	default:
		return fmt.Sprintf("ExitCode:%d", t.ExitCode)
	}
}

// restarts has the number of restarts and the time when the last restarted container
// terminated.
type restarts struct {
	count int
	last  metav1.Time
}

func (r *restarts) add(c *corev1.ContainerStatus) {
	r.count += int(c.RestartCount)
	if t := c.LastTerminationState.Terminated; t != nil && r.last.Before(&t.FinishedAt) {
		r.last = t.FinishedAt
	}
}

// String returns the number and, if it is known, how long ago the last restart was: "3 (5m
// ago)".
func (r restarts) String(now time.Time) string {
	if r.count == 0 || r.last.IsZero() {
		return strconv.Itoa(r.count)
	}
	return fmt.Sprintf("%d (%s ago)", r.count, age(r.last, now))
}

func conditionTrue(pod *corev1.Pod, t corev1.PodConditionType) bool {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			return pod.Status.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}

func readinessGates(pod *corev1.Pod) string {
	if len(pod.Spec.ReadinessGates) == 0 {
		return none
	}
	met := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if conditionTrue(pod, gate.ConditionType) {
			met++
		}
	}
	return fmt.Sprintf("%d/%d", met, len(pod.Spec.ReadinessGates))
}
