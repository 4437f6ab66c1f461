package kubeletsim

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// input is all that a pod's next step depends on.
type input struct {
	pod   *corev1.Pod
	state podState
	now   time.Time
	// address is free for the pod to take, should it need one.
	address netip.Addr
	faults  []fault
	// present tells whether the node has an image already; pullError why an image
	// cannot be had, empty when it can.
	present   func(image string) bool
	pullError func(image string) string
	// missing are those of the pod's needs that are not there.
	missing []need
	// rejected is why the node does not take the pod, if there is a reason; unfit why it
	// does not have what the pod asks for by now.
	rejected, unfit rejection
	lat             *Latencies
	backoff         *Backoff
}

// outcome is what a step leads to.
type outcome struct {
	state  podState
	events []event
	// wake is when the pod has to be looked at again if nothing happens; zero:
	// never.
	wake time.Time
	// images are those that came to the node.
	images []string
	// asks are the probes that are due.
	asks []question
	// signals are the containers whose processes are told to end, and handle that.
	signals []string
}

// event is something to be reported of a pod, in the order in which it happened.
type event struct {
	// fieldPath names the container that it is about; empty for the pod.
	fieldPath       string
	kind            string
	reason, message string
}

// step takes a pod as far as it gets at one moment: everything that is due
// happens, and what follows at once from it too. It changes nothing it is given.
func step(in input) outcome {
	s := stepper{input: in, refs: containersOf(in.pod)}
	s.state = in.state.clone()
	s.run()
	return outcome{state: s.state, events: s.events, wake: s.wakeAt, images: s.images, signals: s.signals, asks: s.asks}
}

type stepper struct {
	input
	refs    []containerRef
	events  []event
	images  []string
	signals []string
	asks    []question
	wakeAt  time.Time
}

func (s *stepper) run() {
	st := &s.state
	s.admit()
	if st.ended {
		return
	}
	s.applyFaults()
	s.checkDeadline()
	if s.pod.DeletionTimestamp != nil {
		s.terminate(s.deletionEnd())
	}
	if !st.terminating && !st.sandbox {
		if !s.due(st.sandboxDue) {
			return
		}
		if s.mountFails() {
			return
		}
		if !s.pod.Spec.HostNetwork {
			if !s.address.IsValid() {
				s.report(nil, corev1.EventTypeWarning, "FailedCreatePodSandBox", "Failed to create pod sandbox: no address is left in the node's range")
				s.due(s.now.Add(addressRetry))
				return
			}
			st.address = s.address
		}
		st.sandbox = true
	}
	s.resize()
	for s.endRuns() || s.stopUnhealthy() || s.stopNext() || s.startNext() || s.finish() {
	}
	s.endResize()
	if st.ended {
		s.wakeAt = time.Time{}
	}
	s.probe()
}

// addressRetry is how long a pod waits that finds its node's range used up.
const addressRetry = 10 * time.Second

// due is whether the time has come; if not, the pod will be woken then.
func (s *stepper) due(at time.Time) bool {
	if !at.After(s.now) {
		return true
	}
	if at != endOfTime && (s.wakeAt.IsZero() || at.Before(s.wakeAt)) {
		s.wakeAt = at
	}
	return false
}

func (s *stepper) report(ref *containerRef, kind, reason, message string) {
	e := event{kind: kind, reason: reason, message: message}
	if ref != nil {
		e.fieldPath = ref.fieldPath()
	}
	s.events = append(s.events, e)
}

// admit takes note of a pod that has just come, and of containers that were added
// to one since.
func (s *stepper) admit() {
	st := &s.state
	if st.admitted.IsZero() {
		st.admitted = s.now
		st.sandboxDue = later(s.now, startDelay(s.pod, s.lat))
		if len(s.pod.Annotations) > 0 {
			for _, bad := range badAnnotations(s.pod) {
				s.report(nil, corev1.EventTypeWarning, "InvalidSimulation", bad)
			}
		}
		st.ended = finished(s.pod)
		if why := s.rejected; why.reason != "" && !st.ended {
			st.ended, st.rejected = true, true
			st.reason, st.message = why.reason, "Pod was rejected: "+why.message
			s.report(nil, corev1.EventTypeWarning, why.reason, why.message)
		}
		if len(s.pod.Spec.InitContainers) == 0 {
			st.initialized = true
		}
	}
	for i := len(st.containers); i < len(s.refs); i++ {
		ref := s.refs[i]
		st.containers = append(st.containers, container{name: ref.Name, kind: ref.kind, image: ref.Image, granted: ref.Resources})
	}
}

// endOfTime is when what never happens is due.
var endOfTime = time.Unix(1<<40, 0)

// later is when d has passed since t.
func later(t time.Time, d time.Duration) time.Time {
	if d == forever {
		return endOfTime
	}
	return t.Add(d)
}

func (s *stepper) dueAfter(t time.Time, d time.Duration) bool {
	return d != forever && s.due(t.Add(d))
}
