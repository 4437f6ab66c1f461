package kubeletsim

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
)

// podState is what the simulated runtime of one node knows of one pod, and what
// the API cannot tell: it holds times of full precision. The zero value is a pod
// that has just come.
type podState struct {
	admitted   time.Time
	sandboxDue time.Time
	// sandbox is whether the pod has its network; address is its place in it, not
	// valid for pods in their host's.
	sandbox bool
	address netip.Addr
	// mountError is what one of its volumes misses.
	mountError string
	// initialized is whether all init containers have done their part once.
	initialized bool
	// containers are those of the pod's spec, in the order of containersOf.
	containers []container
	// terminating is whether all containers are being stopped for good, at the
	// latest at killAt.
	terminating bool
	killAt      time.Time
	// ended is whether no container runs nor ever will again.
	ended bool
	// rejected is whether the kubelet did not even take the pod.
	rejected bool
	// reason and message say why the kubelet ended the pod.
	reason, message string
	// resize is how the last change of the pod's resources goes.
	resize resizeState
}

type containerKind int

const (
	initContainer containerKind = iota
	sidecarContainer
	appContainer
	ephemeralContainer
)

type containerPhase int

const (
	// created containers have not been started yet.
	created containerPhase = iota
	running
	// exited containers stay so, or will be started again without being in
	// back-off.
	exited
	backingOff
)

// container is one container of a pod.
type container struct {
	name  string
	kind  containerKind
	phase containerPhase
	// image is what the present or last run was made from.
	image    string
	restarts int32

	startedAt, finishedAt time.Time
	// lastRun is when the run before began and ended. adopted says that the times of
	// this one come from the API, which keeps seconds.
	lastRun loggedTimes
	adopted bool
	// exitAt is when a running container ends by itself, with exitCode and, if it has
	// one of its own, exitReason. A container
	// that is being stopped ends at stopAt, with stopCode, if it has not by then.
	// Zero times: not known to.
	exitAt, stopAt     time.Time
	exitCode, stopCode int32
	exitReason         string
	// started and ready are what its probes say; unready is why the readiness probe
	// is made to fail, empty when it is not.
	started, ready bool
	unready        string
	// live is whether its process is one of those that are run (see liveRun); traps whether
	// that one has handlers for signals.
	live, traps bool
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

func (s *podState) clone() podState {
	c := *s
	c.containers = slices.Clone(s.containers)
	return c
}

// endsAt is when a running container ends as far as is known; zero: never.
func (c *container) endsAt() (at time.Time, code int32) {
	if c.exitAt.IsZero() || !c.stopAt.IsZero() && c.stopAt.Before(c.exitAt) {
		return c.stopAt, c.stopCode
	}
	return c.exitAt, c.exitCode
}

// containerRef is a container of a pod's spec.
type containerRef struct {
	*corev1.Container
	kind containerKind
}

// fieldPath is how events name the container.
func (r containerRef) fieldPath() string {
	list := "containers"
	switch r.kind {
	case initContainer, sidecarContainer:
		list = "initContainers"
	case ephemeralContainer:
		list = "ephemeralContainers"
	}
	return "spec." + list + "{" + r.Name + "}"
}

// containersOf lists a pod's containers: those that initialize it, those that it is
// for, those that were added to look at it.
func containersOf(pod *corev1.Pod) []containerRef {
	spec := &pod.Spec
	refs := make([]containerRef, 0, len(spec.InitContainers)+len(spec.Containers)+len(spec.EphemeralContainers))
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		kind := initContainer
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			kind = sidecarContainer
		}
		refs = append(refs, containerRef{c, kind})
	}
	for i := range spec.Containers {
		refs = append(refs, containerRef{&spec.Containers[i], appContainer})
	}
	for i := range spec.EphemeralContainers {
		c := corev1.Container(spec.EphemeralContainers[i].EphemeralContainerCommon)
		refs = append(refs, containerRef{&c, ephemeralContainer})
	}
	return refs
}

// containerID names one run of a container.
func containerID(pod types.UID, name string, restarts int32) string {
	digest := sha256.Sum256([]byte(string(pod) + "/" + name + "/" + strconv.Itoa(int(restarts))))
	return runtimeScheme + hex.EncodeToString(digest[:])
}

// terminationOf describes how c's run ended.
func terminationOf(pod types.UID, c *container, code int32, reason string) *corev1.ContainerStateTerminated {
	if reason == "" {
		reason = "Completed"
		if code != 0 {
			reason = "Error"
		}
	}
	return &corev1.ContainerStateTerminated{
		ExitCode:    code,
		Reason:      reason,
		StartedAt:   seconds(c.startedAt),
		FinishedAt:  seconds(c.finishedAt),
		ContainerID: containerID(pod, c.name, c.restarts),
	}
}

// seconds is t as the API keeps times.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }
