package lifecycle

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/span"
	"minikcm.dev/minikcm/kubeletsim/internal/annotations"
)

// Input is everything that a step depends on.
type Input struct {
	Pod   *corev1.Pod
	State State
	// Observed is the observation of the pod in another cluster, or of the pods that it replaces; nil:
	// there is none.
	Observed *Observation
	Now      time.Time
	// TakeAddress takes a free address of the node for the pod's new sandbox, not valid if none
	// is left, and the one that goes with it on a node with two ranges. A step that makes no
	// sandbox does not call it: the addresses of pods follow from the order of their sandboxes,
	// not from the number of steps before them.
	TakeAddress func() (address, second netip.Addr)
	// NetworkError is why the network of the node is not ready; empty if it is. Pods of the host's
	// network start nevertheless.
	NetworkError string
	Occurrences  []Occurrence
	// HasImage reports whether the node has an image. PullError returns why an image cannot be
	// pulled, empty if it can.
	HasImage  func(image string) bool
	PullError func(image string) string
	// Missing are the pod's needs that do not exist.
	Missing []Need
	// Rejected is why the node does not admit the pod, and ResizeRejected why it does not grant
	// a resize; zero if it does.
	Rejected, ResizeRejected Rejection
	Latencies                *Latencies
	Backoff                  *Backoff
}

// Outcome is the result of a step.
type Outcome struct {
	State  State
	Events []Event
	// Wake is when the next step is due if nothing occurs before; zero: never.
	Wake time.Time
	// Images are the images that were pulled.
	Images []Image
	// ProbesDue are the probes that the caller has to run now.
	ProbesDue []ProbeRequest
	// HooksDue are the hooks that the caller has to run now.
	HooksDue []HookRequest
	// Signals are the containers whose processes get SIGTERM and have a handler for it.
	Signals []string
}

// Image is an image and its declared size in bytes, 0 if none is declared.
type Image struct {
	Name string
	Size int64
}

// Event is an event to report, in the order in which they happened.
type Event struct {
	// FieldPath names the container that the event is about; empty for the pod.
	FieldPath       string
	Kind            string
	Reason, Message string
}

// Step advances a pod as far as possible at one moment: it does everything that is due, and all
// that follows immediately. It does not modify its input.
func Step(in Input) Outcome {
	s := stepper{Input: in, refs: podspec.Containers(in.Pod)}
	s.State = in.State.clone()
	if in.Observed != nil {
		s.State.gates = in.Observed.Gates
	}
	s.run()
	return Outcome{State: s.State, Events: s.events, Wake: s.wakeAt, Images: s.images, Signals: s.signals, ProbesDue: s.probesDue, HooksDue: s.hooksDue}
}

type stepper struct {
	Input
	refs      []podspec.Container
	events    []Event
	images    []Image
	signals   []string
	probesDue []ProbeRequest
	hooksDue  []HookRequest
	wakeAt    time.Time
}

func (s *stepper) run() {
	st := &s.State
	s.admit()
	if st.Ended {
		return
	}
	s.applyOccurrences()
	s.checkDeadline()
	if s.Pod.DeletionTimestamp != nil {
		s.terminate(s.deletionEnd())
	}
	if !st.terminating && !st.Sandbox {
		if s.lacksNetwork() || !s.due(st.sandboxDue) {
			return
		}
		if s.mountFails() {
			st.explained = true
			return
		}
		if s.Observed != nil && s.Observed.Stuck && !st.explained {
			return
		}
		if !s.Pod.Spec.HostNetwork {
			address, second := s.TakeAddress()
			if !address.IsValid() {
				s.report(nil, corev1.EventTypeWarning, "FailedCreatePodSandBox", "Failed to create pod sandbox: no address is left in the node's range")
				s.due(s.Now.Add(addressRetry))
				return
			}
			st.Address, st.SecondAddress = address, second
		}
		st.Sandbox = true
	}
	s.resize()
	for s.endRuns() || s.stopUnhealthy() || s.stopNext() || s.restartAll() || s.startNext() || s.finish() {
	}
	s.endResize()
	if st.Ended {
		s.wakeAt = time.Time{}
	}
	s.probe()
}

// addressRetry is the delay before a pod whose node has no network or no free address tries again.
const addressRetry = 10 * time.Second

// lacksNetwork reports whether the pod has to wait for the network of its node.
func (s *stepper) lacksNetwork() bool {
	if s.NetworkError == "" || s.Pod.Spec.HostNetwork {
		return false
	}
	s.report(nil, corev1.EventTypeWarning, "NetworkNotReady", "network is not ready: "+s.NetworkError)
	s.due(s.Now.Add(addressRetry))
	return true
}

// due reports whether the time has come. If not, the next step is due then at the latest.
func (s *stepper) due(at time.Time) bool {
	if !at.After(s.Now) {
		return true
	}
	if at != endOfTime && (s.wakeAt.IsZero() || at.Before(s.wakeAt)) {
		s.wakeAt = at
	}
	return false
}

func (s *stepper) report(ref *podspec.Container, kind, reason, message string) {
	e := Event{Kind: kind, Reason: reason, Message: message}
	if ref != nil {
		e.FieldPath = ref.FieldPath()
	}
	s.events = append(s.events, e)
}

// admit initializes the state of a new pod, and adds containers that were added to the spec
// since.
func (s *stepper) admit() {
	st := &s.State
	if st.Admitted.IsZero() {
		st.Admitted = s.Now
		st.sandboxDue = later(s.Now, startDelay(s.Pod, s.Latencies))
		st.annotated = true // no other process has
		s.reportAnnotations()
		st.Ended = Finished(s.Pod)
		st.sealed = st.Ended
		if why := s.Rejected; why.Reason != "" && !st.Ended {
			st.Ended, st.rejected = true, true
			st.reason, st.message = why.Reason, "Pod was rejected: "+why.Message
			s.report(nil, corev1.EventTypeWarning, why.Reason, why.Message)
		}
		if len(s.Pod.Spec.InitContainers) == 0 {
			st.initialized = true
		}
	}
	s.reportAnnotations()
	for i := len(st.Containers); i < len(s.refs); i++ {
		ref := s.refs[i]
		st.Containers = append(st.Containers, Container{Name: ref.Name, Kind: ref.Kind, image: ref.Image, granted: ref.Resources})
	}
}

// reportAnnotations reports what is wrong with the pod's annotations when they have changed. Those that another process has seen are not
// reported again.
func (s *stepper) reportAnnotations() {
	st := &s.State
	seen := st.annotated
	st.annotated = true
	if maps.Equal(st.annotations, s.Pod.Annotations) {
		return
	}
	before := st.problems
	st.annotations, st.problems = s.Pod.Annotations, annotations.Problems(s.Pod)
	for _, bad := range st.problems {
		if seen && !slices.Contains(before, bad) {
			s.report(nil, corev1.EventTypeWarning, "InvalidSimulation", bad)
		}
	}
}

// endOfTime is a time that is never reached.
var endOfTime = time.Unix(1<<40, 0)

// later returns t plus d, or endOfTime if d is Forever.
func later(t time.Time, d time.Duration) time.Time {
	if d == span.Forever {
		return endOfTime
	}
	return t.Add(d)
}

func (s *stepper) dueAfter(t time.Time, d time.Duration) bool {
	return d != span.Forever && s.due(t.Add(d))
}
