package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/podspec"
)

// State is the state of one pod in the simulated container runtime, with times in full
// precision. The zero value is a pod that the kubelet has not seen yet.
type State struct {
	Admitted   time.Time
	sandboxDue time.Time
	// Sandbox means that the pod's sandbox is ready. Address is the pod's IP; it is not valid
	// for pods on their host's network. SecondAddress is the pod's IP of the other IP family, on a
	// node with two ranges.
	Sandbox       bool
	Address       netip.Addr
	SecondAddress netip.Addr
	// annotations are the pod's when their problems were computed. annotated means that new problems are reported.
	annotations map[string]string
	problems    []string
	annotated   bool
	// mountError is the message of the missing volume source that was reported last.
	mountError string
	// attachDue is when the kubelet gives up an attempt to wait until volumes are attached.
	attachDue time.Time
	// initialized means that all init containers have completed since the pod last started over.
	initialized bool
	// startOverAt is when containers start that a restart of all containers has removed; zero:
	// they have started.
	startOverAt time.Time
	// Containers are the containers of the pod's spec, in the order of podspec.Containers.
	Containers []Container
	// terminating means that all containers are being stopped for good, at the latest at
	// killAt.
	terminating bool
	killAt      time.Time
	// Ended means that no container runs or will run again. sealed means that the pod had ended
	// before the kubelet saw it: its status stays as it is.
	Ended, sealed bool
	// gates are the readiness gates that open when the containers are ready.
	gates []corev1.PodConditionType
	// explained means that the simulation knew at some time why the pod did not start.
	explained bool
	// rejected means that the kubelet did not admit the pod.
	rejected bool
	// reason and message are the status with which the kubelet ended the pod.
	reason, message string
	// evicted means that the kubelet evicts the pod, and disrupted that this is a disruption.
	evicted, disrupted bool
	// Resize is the progress of the last in-place resize.
	Resize resizeState
}

type containerPhase int

const (
	// Created containers have never been started, or a restart of all containers has removed them.
	Created containerPhase = iota
	Running
	// Exited containers are not restarted, or are restarted without back-off.
	exited
	backingOff
)

// Container is the runtime state of one container.
type Container struct {
	Name  string
	Kind  podspec.Kind
	Phase containerPhase
	// image is the image of the present or last run.
	image    string
	Restarts int32

	startedAt, finishedAt time.Time
	// lastRun are the times of the previous run. adopted means that the times of the present
	// run come from the API, in whole seconds.
	lastRun RunTimes
	adopted bool
	// exitAt is when a running container ends without intervention, with exitCode and
	// exitReason (empty: derived from the code). A container that is being stopped ends at
	// StopAt with stopCode, unless exitAt is earlier. Zero times mean never.
	exitAt, StopAt     time.Time
	exitCode, stopCode int32
	// exitMessage is the message of that termination.
	exitReason, exitMessage string
	// started and ready are the results of its probes. unready is the injected failure message
	// of the readiness probe; empty if none is injected.
	started, ready bool
	unready        string
	// Live means that the process is run by package box. traps means that this process has
	// handlers for signals.
	Live, traps bool
	// Quiet means that all that its process does is known, and that it listens on no port.
	Quiet bool
	// hooked means that its preStop hook runs. The signal follows, or the end at StopAt.
	hooked bool
	// signalAt is when its preStop hook ends, if that is known before and the signal follows then. Zero: the signal is not waited for.
	signalAt time.Time
	// changed means that the container is restarted whatever the restart policy: the spec has
	// another image, or the pod starts over.
	changed bool

	probes [probeKinds]probeState

	// granted are the resources that the node has reserved for it; has are the resources of its
	// present run.
	granted, has corev1.ResourceRequirements

	// delay is the back-off in force since raisedAt; 0 before any restart.
	delay    time.Duration
	raisedAt time.Time

	// waits is the observed reason why the container is not started; nil: there is none.
	waits *corev1.ContainerStateWaiting
	// configError is why the container cannot be created, such as a missing environment source; empty if it can.
	configError string
	// imageError is why the name of the container's image cannot be read; empty if it can.
	imageError string
	// pullError is why pullImage cannot be pulled. The next attempt is due at pullDue,
	// pullDelay after the last.
	pullImage, pullError string
	pullDelay            time.Duration
	pullDue              time.Time
	// pullSince is when the present pull of pullImage began, and pullEnds when it ends. The zero
	// pullSince: none is going on.
	pullSince, pullEnds time.Time

	// termination is the end of the last run while the container does not run; last is the end
	// of the run before, or of the last one if the container was removed.
	termination, last *corev1.ContainerStateTerminated
}

// Run is the run of a container that has not ended.
type Run struct {
	Name  string
	ID    string
	Kind  podspec.Kind
	Since time.Time
}

// Runs returns the runs of the pod's containers that have not ended.
func (s *State) Runs(pod types.UID) []Run {
	var runs []Run
	for i := range s.Containers {
		if c := &s.Containers[i]; c.Phase == Running {
			runs = append(runs, Run{c.Name, ContainerID(pod, c.Name, c.Restarts), c.Kind, c.startedAt})
		}
	}
	return runs
}

// Evicted reports whether the kubelet has evicted the pod.
func (s *State) Evicted() bool { return s.evicted }

func (s *State) clone() State {
	c := *s
	c.Containers = slices.Clone(s.Containers)
	return c
}

// Began returns when the run began.
func (c *Container) Began() time.Time { return c.startedAt }

// HasStopped reports whether a container of a pod that is being deleted has ended, after the signal to terminate and without being killed.
func (s *State) HasStopped(name string) bool {
	return s.terminating && slices.ContainsFunc(s.Containers, func(c Container) bool {
		return c.Name == name && c.Phase == exited && c.termination != nil && c.termination.ExitCode != ExitKilled
	})
}

// Signalled reports whether the container has got the signal to terminate, after its preStop hook.
func (c *Container) Signalled() bool {
	return c.Phase == Running && !c.StopAt.IsZero() && !c.hooked && c.signalAt.IsZero()
}

// endsAt returns when and with which code a running container ends; zero: never.
func (c *Container) endsAt() (at time.Time, code int32) {
	if c.exitAt.IsZero() || !c.StopAt.IsZero() && c.StopAt.Before(c.exitAt) {
		return c.StopAt, c.stopCode
	}
	return c.exitAt, c.exitCode
}

// ContainerID returns the ID of one run of a container.
func ContainerID(pod types.UID, name string, restarts int32) string {
	digest := sha256.Sum256([]byte(string(pod) + "/" + name + "/" + strconv.Itoa(int(restarts))))
	return RuntimeScheme + hex.EncodeToString(digest[:])
}

// terminationOf describes the end of c's run.
func terminationOf(pod types.UID, c *Container, code int32, reason string) *corev1.ContainerStateTerminated {
	if reason == "" {
		reason = "Completed"
		if code != 0 {
			reason = "Error"
		}
	}
	return &corev1.ContainerStateTerminated{
		ExitCode:    code,
		Reason:      reason,
		StartedAt:   APITime(c.startedAt),
		FinishedAt:  APITime(c.finishedAt),
		ContainerID: ContainerID(pod, c.Name, c.Restarts),
	}
}

// APITime returns t as the API stores times, in whole seconds.
func APITime(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// RuntimeScheme names the simulated container runtime in IDs and versions.
const RuntimeScheme = "minikcm://"
