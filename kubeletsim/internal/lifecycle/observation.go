package lifecycle

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
	"minikcm.dev/minikcm/kubeletsim/internal/servers"
)

// Observation holds the facts from the status of a pod that the kubelet of another cluster wrote. The
// images and commands of such a pod are not known, so the observation takes the place of their
// simulation: healthy containers stay healthy, and containers that failed go on to fail in the
// same way. A nil Observation has no facts.
type Observation struct {
	// Containers has the observations of containers, by their names.
	Containers map[string]Observed
	// Stuck means that the pod does not get ready to start its containers.
	Stuck bool
	// Gates are the readiness gates that a controller has opened, which does not run here: they open
	// when the containers of a new pod are ready.
	Gates []corev1.PodConditionType
}

// Course is the course of a container's runs.
type Course int

const (
	// Serves: it starts, gets ready and goes on.
	Serves Course = iota + 1
	// Lasts: a container that is to end, such as an init container, does not.
	Lasts
	// Crashes: each run ends as the last one has. The container gets ready only if it was.
	Crashes
	// NeverReady and NeverStarted: the readiness probe or the startup probe fails.
	NeverReady
	NeverStarted
	// NotPulled: its image cannot be pulled. NotCreated: it cannot be created or started.
	NotPulled
	NotCreated
)

// Observed is the observation of one container.
type Observed struct {
	Course Course
	// Ready means that the container was ready.
	Ready bool
	// After is the duration of each run that Crashes, and ExitCode its end. Restarts were observed.
	After    time.Duration
	ExitCode int32
	Restarts int32
	// Image is the image of a container that is NotPulled.
	Image string
	// Reason and Message are the termination's, for a run that Crashes, or the waiting container's.
	Reason, Message string
	// Steady means that the container has run longer than its command is predicted to.
	Steady bool
}

// Unhealthy reports whether something is wrong with the container.
func (o Observed) Unhealthy() bool { return o.Course > Serves }

// neverReady reports whether the container does not get ready when it runs.
func (o Observed) neverReady() bool {
	return o.Course == NeverReady || o.Course == Crashes && !o.Ready
}

// InTemplate reports whether the cause lies in the pod's template or image, so that a replacement of
// the pod has it, too.
func (o Observed) InTemplate() bool {
	return o.Course == Crashes || o.Course == NotPulled || o.Course == NotCreated
}

// Unhealthy reports whether something is wrong with the pod.
func (o *Observation) Unhealthy() bool {
	if o == nil {
		return false
	}
	for _, c := range o.Containers {
		if c.Unhealthy() {
			return true
		}
	}
	return o.Stuck
}

// Inherited returns the observation for a pod that replaces the observed one: a container serves
// again if it ailed for a reason outside of the template and the image.
func (o *Observation) Inherited() *Observation {
	heir := &Observation{Containers: map[string]Observed{}, Gates: o.Gates}
	for name, seen := range o.Containers {
		if seen.Unhealthy() && !seen.InTemplate() {
			seen = Observed{Course: Serves, Ready: true, Steady: seen.Steady}
		}
		heir.Containers[name] = seen
	}
	return heir
}

// of returns the observation of a container.
func (o *Observation) of(container string) Observed {
	if o == nil {
		return Observed{}
	}
	return o.Containers[container]
}

// patience is the time after which a pod that has not started counts as stuck. Upstream's kubelet
// gives up an attempt to wait for volumes after about as long.
const patience = attachPatience

// Observe returns the observation of a pod's status at a moment. A container that may still get ready
// by itself counts as serving.
func Observe(pod *corev1.Pod, lat *Latencies, now time.Time) *Observation {
	if pod.Status.StartTime == nil || Finished(pod) {
		return nil
	}
	w := observer{pod: pod, lat: lat, now: now}
	o := &Observation{Containers: map[string]Observed{}, Stuck: w.stuck(), Gates: openGates(pod)}
	for _, ref := range podspec.Containers(pod) {
		status := statusOf(pod, ref)
		if status == nil || ref.Kind == podspec.EphemeralContainer {
			continue
		}
		if seen := w.container(ref, status); seen.Course != 0 {
			o.Containers[ref.Name] = seen
		}
	}
	return o
}

// openGates returns the readiness gates of a pod whose conditions are true.
func openGates(pod *corev1.Pod) []corev1.PodConditionType {
	var open []corev1.PodConditionType
	for _, gate := range pod.Spec.ReadinessGates {
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue {
				open = append(open, c.Type)
			}
		}
	}
	return open
}

type observer struct {
	pod *corev1.Pod
	lat *Latencies
	now time.Time
}

// stuck reports whether the pod has had the time to get its sandbox and has none.
func (w *observer) stuck() bool {
	if w.pod.Status.PodIP != "" || w.pod.DeletionTimestamp != nil || w.hasRun() {
		return false
	}
	return w.now.After(later(w.pod.Status.StartTime.Time, startDelay(w.pod, w.lat)).Add(patience))
}

// hasRun reports whether any container of the pod has, or waits for something other than the sandbox.
func (w *observer) hasRun() bool {
	for _, list := range [][]corev1.ContainerStatus{w.pod.Status.InitContainerStatuses, w.pod.Status.ContainerStatuses} {
		for i := range list {
			if c := &list[i]; c.State.Waiting == nil || c.LastTerminationState.Terminated != nil || !isInitial(c.State.Waiting.Reason) {
				return true
			}
		}
	}
	return false
}

// isPullError reports whether a reason for waiting is about the container's image.
func isPullError(reason string) bool {
	switch reason {
	case "ErrImagePull", reasonPullBackOff, "ErrImageNeverPull", reasonInvalidImage, "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		return true
	}
	return false
}

// namesMissing reports whether a message is about a missing ConfigMap or Secret, or a missing key
// of one.
func namesMissing(message string) bool {
	return strings.HasPrefix(message, "couldn't find key ") ||
		strings.HasSuffix(message, " not found") && (strings.HasPrefix(message, "configmap ") || strings.HasPrefix(message, "secret "))
}

// isInitial reports whether a container waits because nothing has happened yet.
func isInitial(reason string) bool {
	return reason == "" || reason == reasonCreating || reason == reasonInitializing
}

func (w *observer) container(ref podspec.Container, status *corev1.ContainerStatus) Observed {
	switch state := &status.State; {
	case state.Waiting != nil:
		return w.waiting(ref, status)
	case state.Terminated != nil:
		if ended := state.Terminated; !wasLost(ended) && restarts(w.pod, ref, &Container{Name: ref.Name, Kind: ref.Kind, termination: ended}) {
			return crash(ended, status)
		}
	case state.Running != nil:
		return w.running(ref, status)
	}
	return Observed{}
}

// wasLost reports whether a termination says only that the runtime has lost the container, as with the
// restart of a machine.
func wasLost(t *corev1.ContainerStateTerminated) bool {
	return t.Reason == "Unknown" || t.Reason == "ContainerStatusUnknown"
}

// crash describes a container whose runs end as one has.
func crash(run *corev1.ContainerStateTerminated, status *corev1.ContainerStatus) Observed {
	return Observed{
		Course: Crashes, Ready: status.Ready, Restarts: status.RestartCount,
		After: max(run.FinishedAt.Sub(run.StartedAt.Time), 0), ExitCode: run.ExitCode, Reason: run.Reason, Message: run.Message,
	}
}

func (w *observer) waiting(ref podspec.Container, status *corev1.ContainerStatus) Observed {
	waits := status.State.Waiting
	seen := Observed{Restarts: status.RestartCount, Reason: waits.Reason, Message: waits.Message}
	switch {
	case waits.Reason == reasonCrashLoop:
		run := status.LastTerminationState.Terminated
		if run == nil {
			run = &corev1.ContainerStateTerminated{ExitCode: 1}
		}
		return crash(run, status)
	case isPullError(waits.Reason):
		seen.Course, seen.Image = NotPulled, ref.Image
	case waits.Reason == reasonConfigError && namesMissing(waits.Message):
		return Observed{} // the simulation looks whether it is still missing
	case waits.Reason == reasonRestartingAll:
		return Observed{}
	case !isInitial(waits.Reason):
		seen.Course = NotCreated
	case w.waitsInVain(ref):
		seen.Course = NotCreated
	}
	return seen
}

// waitsInVain reports whether a container that waits without a reason has waited for longer than its
// creation takes. Containers that come after others in the pod wait for these.
func (w *observer) waitsInVain(ref podspec.Container) bool {
	if w.pod.Status.PodIP == "" {
		return false // the pod is stuck, or will start it
	}
	begun := w.pod.Status.StartTime.Time
	for _, other := range podspec.Containers(w.pod) {
		if other.Name == ref.Name {
			break
		}
		status := statusOf(w.pod, other)
		switch {
		case status == nil, other.Kind == podspec.AppContainer:
			continue
		case status.State.Terminated != nil && status.State.Terminated.ExitCode == 0:
			begun = latest(begun, status.State.Terminated.FinishedAt.Time)
		case status.State.Running != nil && other.Kind == podspec.SidecarContainer && status.Started != nil && *status.Started:
			begun = latest(begun, status.State.Running.StartedAt.Time)
		default:
			return false
		}
	}
	var pull time.Duration
	imageAnnotations(w.pod, ref).Duration(podspec.AnnotationPullDuration, &pull)
	return w.now.After(later(begun, pull).Add(patience))
}

func (w *observer) running(ref podspec.Container, status *corev1.ContainerStatus) Observed {
	since := status.State.Running.StartedAt.Time
	if last := status.LastTerminationState.Terminated; last != nil && w.loops(status, last, since) {
		return crash(last, status)
	}
	seen := Observed{Course: Serves, Ready: status.Ready, Restarts: status.RestartCount}
	does := behaviourOf(w.pod, ref.Container, ref.Kind, status.RestartCount, w.lat, Observed{})
	seen.Steady = does.live || w.now.After(later(since, does.runs).Add(time.Second))
	if ref.Kind == podspec.InitContainer {
		if !w.now.After(later(since, does.runs)) || !w.now.After(since.Add(patience)) {
			return Observed{} // it still runs as predicted, or may end soon
		}
		seen.Course = Lasts
		return seen
	}
	switch ready, started := w.times(ref, since); {
	case ref.StartupProbe != nil && status.Started != nil && !*status.Started:
		if w.now.After(started) {
			seen.Course = NeverStarted
		}
	case !status.Ready && w.now.After(ready) && !w.declares(ref):
		seen.Course = NeverReady
	}
	return seen
}

// declares reports whether annotations say how the container answers its readiness probe.
func (w *observer) declares(ref podspec.Container) bool {
	probe := ref.ReadinessProbe
	if probe == nil || probe.Exec != nil {
		return false
	}
	if probe.GRPC != nil {
		return responses.GRPCOf(w.pod, ref.Name, ref.Kind) != nil || servers.Of(w.pod, ref.Name, ref.Kind) != nil
	}
	_, declared := responses.HTTPOf(w.pod, ref.Name, ref.Kind)
	return declared || servers.Of(w.pod, ref.Name, ref.Kind) != nil
}

// loops reports whether a container that runs is between two crashes: its run began after a back-off,
// and has not lasted longer than the one before.
func (w *observer) loops(status *corev1.ContainerStatus, last *corev1.ContainerStateTerminated, since time.Time) bool {
	lasted := last.FinishedAt.Sub(last.StartedAt.Time)
	return status.RestartCount > 1 && !wasLost(last) && since.Sub(last.FinishedAt.Time) >= shortestBackoff && w.now.Sub(since) <= lasted+time.Second
}

// shortestBackoff is the shortest delay of a restart, less the fractions of seconds that statuses
// lack.
const shortestBackoff = 9 * time.Second

// times returns when a container that started at since is ready and has started, if its probes
// succeed from the beginning. A period is added for the time that kubelets wait before the first
// attempt.
func (w *observer) times(ref podspec.Container, since time.Time) (ready, started time.Time) {
	started = since
	if p := ref.StartupProbe; p != nil {
		started = since.Add(startupTime(p) + period(p))
	}
	delay := w.lat.ContainerReady
	podspec.Annotations{Pod: w.pod, Container: ref.Name}.Duration(podspec.AnnotationReadyDelay, &delay)
	ready = later(started, delay)
	if p := ref.ReadinessProbe; p != nil {
		ready = latest(ready, since.Add(startupTime(p))).Add(period(p))
	}
	return ready.Add(time.Second), started.Add(time.Second)
}
