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

	"minikcm.dev/minikcm/kubeletsim/podspec"
)

// State is what the simulated runtime of one node knows of one pod, and what
// the API cannot tell: it holds times of full precision. The zero value is a pod
// that has just come.
type State struct {
	Admitted   time.Time
	sandboxDue time.Time
	// Sandbox is whether the pod has its network; address is its place in it, not
	// valid for pods in their host's.
	Sandbox bool
	Address netip.Addr
	// mountError is what one of its volumes misses.
	mountError string
	// initialized is whether all init containers have done their part once.
	initialized bool
	// Containers are those of the pod's spec, in the order of containersOf.
	Containers []Container
	// terminating is whether all containers are being stopped for good, at the
	// latest at killAt.
	terminating bool
	killAt      time.Time
	// Ended is whether no container runs nor ever will again.
	Ended bool
	// rejected is whether the kubelet did not even take the pod.
	rejected bool
	// reason and message say why the kubelet ended the pod.
	reason, message string
	// Resize is how the last change of the pod's resources goes.
	Resize resizeState
}

type containerPhase int

const (
	// Created containers have not been started yet.
	Created containerPhase = iota
	Running
	// exited containers stay so, or will be started again without being in
	// back-off.
	exited
	backingOff
)

// Container is one container of a pod.
type Container struct {
	Name  string
	Kind  podspec.Kind
	Phase containerPhase
	// image is what the present or last run was made from.
	image    string
	Restarts int32

	startedAt, finishedAt time.Time
	// lastRun is when the run before began and ended. adopted says that the times of
	// this one come from the API, which keeps seconds.
	lastRun RunTimes
	adopted bool
	// exitAt is when a running container ends by itself, with exitCode and, if it has
	// one of its own, exitReason. A container
	// that is being stopped ends at stopAt, with stopCode, if it has not by then.
	// Zero times: not known to.
	exitAt, StopAt     time.Time
	exitCode, stopCode int32
	exitReason         string
	// started and ready are what its probes say; unready is why the readiness probe
	// is made to fail, empty when it is not.
	started, ready bool
	unready        string
	// Live is whether its process is one of those that are run (see liveRun); traps whether
	// that one has handlers for signals.
	Live, traps bool
	// changed is whether it is to run again whatever the restart policy: the pod's
	// spec names another image now, or the pod begins anew.
	changed bool

	probes [probeKinds]probing

	// granted is what the node has reserved for it; has is what its run was given.
	granted, has corev1.ResourceRequirements

	// delay is the back-off that its last restart brought, at raisedAt; 0 before
	// any restart.
	delay    time.Duration
	raisedAt time.Time

	// configError is what its environment misses, so that it cannot be made.
	configError string
	// pullError is why pullImage cannot be pulled; the next attempt is due at pullDue,
	// pullDelay after the last.
	pullImage, pullError string
	pullDelay            time.Duration
	pullDue              time.Time

	// termination is how the last run ended, when none is going on; last is how
	// the one before ended.
	termination, last *corev1.ContainerStateTerminated
}

func (s *State) clone() State {
	c := *s
	c.Containers = slices.Clone(s.Containers)
	return c
}

// endsAt is when a running container ends as far as is known; zero: never.
func (c *Container) endsAt() (at time.Time, code int32) {
	if c.exitAt.IsZero() || !c.StopAt.IsZero() && c.StopAt.Before(c.exitAt) {
		return c.StopAt, c.stopCode
	}
	return c.exitAt, c.exitCode
}

// ContainerID names one run of a container.
func ContainerID(pod types.UID, name string, restarts int32) string {
	digest := sha256.Sum256([]byte(string(pod) + "/" + name + "/" + strconv.Itoa(int(restarts))))
	return RuntimeScheme + hex.EncodeToString(digest[:])
}

// terminationOf describes how c's run ended.
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

// APITime is t as the API keeps times.
func APITime(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// RuntimeScheme names the simulated container runtime in IDs and versions.
const RuntimeScheme = "minikcm://"
