package lifecycle

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/podspec"
	"minikcm.dev/minikcm/kubeletsim/span"
)

// Input is all that a pod's next step depends on.
type Input struct {
	Pod   *corev1.Pod
	State State
	Now   time.Time
	// Address is free for the pod to take, should it need one.
	Address     netip.Addr
	Occurrences []Occurrence
	// HasImage tells whether the node has an image already; pullError why an image
	// cannot be had, empty when it can.
	HasImage  func(image string) bool
	PullError func(image string) string
	// Missing are those of the pod's needs that are not there.
	Missing []Need
	// Rejected is why the node does not take the pod, if there is a reason; unfit why it
	// does not have what the pod asks for by now.
	Rejected, ResizeRejected Rejection
	Latencies                *Latencies
	Backoff                  *Backoff
}

// Outcome is what a step leads to.
type Outcome struct {
	State  State
	Events []Event
	// Wake is when the pod has to be looked at again if nothing happens; zero:
	// never.
	Wake time.Time
	// Images are those that came to the node.
	Images []string
	// ProbesDue are the probes that are due.
	ProbesDue []ProbeRequest
	// Signals are the containers whose processes are told to end, and handle that.
	Signals []string
}

// Event is something to be reported of a pod, in the order in which it happened.
type Event struct {
	// FieldPath names the container that it is about; empty for the pod.
	FieldPath       string
	Kind            string
	Reason, Message string
}

// Step takes a pod as far as it gets at one moment: everything that is due
// happens, and what follows at once from it too. It changes nothing it is given.
func Step(in Input) Outcome {
	s := stepper{Input: in, refs: podspec.Containers(in.Pod)}
	s.State = in.State.clone()
	s.run()
	return Outcome{State: s.State, Events: s.events, Wake: s.wakeAt, Images: s.images, Signals: s.signals, ProbesDue: s.probesDue}
}

type stepper struct {
	Input
	refs      []podspec.Container
	events    []Event
	images    []string
	signals   []string
	probesDue []ProbeRequest
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
		if !s.due(st.sandboxDue) {
			return
		}
		if s.mountFails() {
			return
		}
		if !s.Pod.Spec.HostNetwork {
			if !s.Address.IsValid() {
				s.report(nil, corev1.EventTypeWarning, "FailedCreatePodSandBox", "Failed to create pod sandbox: no address is left in the node's range")
				s.due(s.Now.Add(addressRetry))
				return
			}
			st.Address = s.Address
		}
		st.Sandbox = true
	}
	s.resize()
	for s.endRuns() || s.stopUnhealthy() || s.stopNext() || s.startNext() || s.finish() {
	}
	s.endResize()
	if st.Ended {
		s.wakeAt = time.Time{}
	}
	s.probe()
}

// addressRetry is how long a pod waits that finds its node's range used up.
const addressRetry = 10 * time.Second

// due is whether the time has come; if not, the pod will be woken then.
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

// admit takes note of a pod that has just come, and of containers that were added
// to one since.
func (s *stepper) admit() {
	st := &s.State
	if st.Admitted.IsZero() {
		st.Admitted = s.Now
		st.sandboxDue = later(s.Now, startDelay(s.Pod, s.Latencies))
		if len(s.Pod.Annotations) > 0 {
			for _, bad := range invalidAnnotations(s.Pod) {
				s.report(nil, corev1.EventTypeWarning, "InvalidSimulation", bad)
			}
		}
		st.Ended = Finished(s.Pod)
		if why := s.Rejected; why.Reason != "" && !st.Ended {
			st.Ended, st.rejected = true, true
			st.reason, st.message = why.Reason, "Pod was rejected: "+why.Message
			s.report(nil, corev1.EventTypeWarning, why.Reason, why.Message)
		}
		if len(s.Pod.Spec.InitContainers) == 0 {
			st.initialized = true
		}
	}
	for i := len(st.Containers); i < len(s.refs); i++ {
		ref := s.refs[i]
		st.Containers = append(st.Containers, Container{Name: ref.Name, Kind: ref.Kind, image: ref.Image, granted: ref.Resources})
	}
}

// endOfTime is when what never happens is due.
var endOfTime = time.Unix(1<<40, 0)

// later is when d has passed since t.
func later(t time.Time, d time.Duration) time.Time {
	if d == span.Forever {
		return endOfTime
	}
	return t.Add(d)
}

func (s *stepper) dueAfter(t time.Time, d time.Duration) bool {
	return d != span.Forever && s.due(t.Add(d))
}
