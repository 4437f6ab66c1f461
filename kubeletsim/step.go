package kubeletsim

import (
	"fmt"
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
	lat     *Latencies
	backoff *Backoff
}

// fault is what somebody does to a pod's container from outside, or to all of its
// containers if the name is empty.
type fault struct {
	container string
	kind      faultKind
	// exitCode and, if not empty, reason are what a crash ends with; message is why a
	// readiness probe fails.
	exitCode int32
	reason   string
	message  string
}

type faultKind int

const (
	crash faultKind = iota
	unready
	readyAgain
	// reboot ends all containers and the pod's sandbox with them.
	reboot
)

// outcome is what a step leads to.
type outcome struct {
	state  podState
	events []event
	// wake is when the pod has to be looked at again if nothing happens; zero:
	// never.
	wake time.Time
	// images are those that came to the node.
	images []string
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
	return outcome{state: s.state, events: s.events, wake: s.wakeAt, images: s.images}
}

type stepper struct {
	input
	refs   []containerRef
	events []event
	images []string
	wakeAt time.Time
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
	for s.endRuns() || s.stopNext() || s.startNext() || s.finish() {
	}
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
		st.sandboxDue = s.sandboxIn(startDelay(s.pod, s.lat))
		if len(s.pod.Annotations) > 0 {
			for _, bad := range badAnnotations(s.pod) {
				s.report(nil, corev1.EventTypeWarning, "InvalidSimulation", bad)
			}
		}
		st.ended = finished(s.pod)
		if len(s.pod.Spec.InitContainers) == 0 {
			st.initialized = true
		}
	}
	for i := len(st.containers); i < len(s.refs); i++ {
		ref := s.refs[i]
		st.containers = append(st.containers, container{name: ref.Name, kind: ref.kind, image: ref.Image})
	}
}

// endOfTime is when what never happens is due.
var endOfTime = time.Unix(1<<40, 0)

func (s *stepper) applyFaults() {
	for _, f := range s.faults {
		if f.kind == reboot {
			s.reboot()
			continue
		}
		for i := range s.state.containers {
			c := &s.state.containers[i]
			if f.container != "" && f.container != c.name {
				continue
			}
			switch {
			case f.kind == crash && c.phase == running:
				s.end(c, f.exitCode, f.reason)
			case f.kind == unready && c.unready == "" && c.phase == running:
				c.unready = f.message
				s.report(&s.refs[i], corev1.EventTypeWarning, "Unhealthy", "Readiness probe failed: "+f.message)
			case f.kind == readyAgain:
				c.unready = ""
			}
		}
	}
}

// reboot is the pod's machine having gone down and come back. A pod that may be
// restarted gets a new sandbox, and begins with its init containers again.
func (s *stepper) reboot() {
	st := &s.state
	for i := range st.containers {
		if c := &st.containers[i]; c.phase == running {
			s.end(c, exitUnknown, "Unknown")
		}
	}
	if !st.sandbox || st.terminating || s.pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
		return
	}
	s.report(nil, corev1.EventTypeNormal, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
	st.sandbox = false
	st.sandboxDue = s.sandboxIn(startDelay(s.pod, s.lat))
	st.initialized = len(s.pod.Spec.InitContainers) == 0
	for i := range st.containers {
		if c := &st.containers[i]; c.kind == initContainer && c.phase == exited {
			c.changed = true
		}
	}
}

func (s *stepper) sandboxIn(d time.Duration) time.Time {
	if d == forever {
		return endOfTime
	}
	return s.now.Add(d)
}

// checkDeadline ends a pod that has been active for longer than it may.
func (s *stepper) checkDeadline() {
	limit := s.pod.Spec.ActiveDeadlineSeconds
	if limit == nil || s.state.terminating {
		return
	}
	if s.due(s.state.admitted.Add(time.Duration(*limit) * time.Second)) {
		s.state.reason = "DeadlineExceeded"
		s.state.message = "Pod was active on the node longer than the specified deadline"
		s.report(nil, corev1.EventTypeNormal, s.state.reason, s.state.message)
		s.terminate(s.now.Add(s.grace()))
	}
}

func (s *stepper) grace() time.Duration {
	if p := s.pod.Spec.TerminationGracePeriodSeconds; p != nil {
		return time.Duration(*p) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// deletionEnd is when a pod that is being deleted has to have ended. The grace period
// begins when its kubelet hears of it: the deletion timestamp has whole seconds only.
func (s *stepper) deletionEnd() time.Time {
	if grace := s.pod.DeletionGracePeriodSeconds; grace != nil {
		return s.now.Add(time.Duration(*grace) * time.Second)
	}
	return s.pod.DeletionTimestamp.Time
}

// terminate begins to stop all containers. Called again, it can only shorten the
// time that they are given.
func (s *stepper) terminate(killAt time.Time) {
	st := &s.state
	if st.terminating && !killAt.Before(st.killAt) {
		return
	}
	st.terminating, st.killAt = true, killAt
	for i := range st.containers {
		if c := &st.containers[i]; !c.stopAt.IsZero() && c.stopAt.After(killAt) {
			c.stopAt, c.stopCode = latest(killAt, s.now), exitKilled
		}
	}
}

const (
	// exitKilled is the exit code of a process that SIGKILL ended.
	exitKilled = 128 + 9
	// exitUnknown is what a runtime says of a container that it lost.
	exitUnknown = 255
)

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// endRuns ends the runs whose time has come.
func (s *stepper) endRuns() bool {
	moved := false
	for i := range s.state.containers {
		c := &s.state.containers[i]
		if c.phase != running {
			continue
		}
		if at, code := c.endsAt(); !at.IsZero() && s.due(at) {
			s.end(c, code, "")
			moved = true
		}
	}
	return moved
}

func (s *stepper) end(c *container, code int32, reason string) {
	c.phase = exited
	c.finishedAt = s.now
	c.exitAt, c.stopAt = time.Time{}, time.Time{}
	c.started, c.ready, c.unready = false, false, ""
	c.termination = terminationOf(s.pod.UID, c, code, reason)
}

// stopNext signals the containers whose turn it is when the pod is being
// terminated: first all but the sidecars, then these one after the other, the last
// started first.
func (s *stepper) stopNext() bool {
	st := &s.state
	if !st.terminating {
		return false
	}
	moved, busy := false, false
	for i := range st.containers {
		if c := &st.containers[i]; c.phase == running && c.kind != sidecarContainer {
			busy = true
			moved = s.stop(i) || moved
		}
	}
	if busy {
		return moved
	}
	for i := len(st.containers) - 1; i >= 0; i-- {
		if st.containers[i].phase == running {
			return s.stop(i)
		}
	}
	st.ended = true
	return false
}

func (s *stepper) stop(i int) bool {
	c, ref := &s.state.containers[i], s.refs[i]
	if !c.stopAt.IsZero() {
		return false
	}
	s.report(&ref, corev1.EventTypeNormal, "Killing", "Stopping container "+c.name)
	s.signal(c, ref, s.state.killAt)
	return true
}

// signal tells a container to end, at the latest at killAt.
func (s *stepper) signal(c *container, ref containerRef, killAt time.Time) {
	delay := behaviourOf(s.pod, ref.Container, c.kind, s.lat).stops
	if at := after(s.now, delay); delay == 0 || !at.IsZero() && !at.After(killAt) {
		c.stopAt, c.stopCode = at, 0
	} else {
		c.stopAt, c.stopCode = latest(killAt, s.now), exitKilled
	}
}

// startNext starts what may start.
func (s *stepper) startNext() bool {
	st := &s.state
	if st.terminating || st.ended || !st.sandbox {
		return false
	}
	moved := false
	for i := range st.containers {
		c := &st.containers[i]
		switch {
		case c.kind == initContainer && st.initialized:
			continue
		case c.kind > sidecarContainer && !st.initialized:
			st.initialized = true
		}
		moved = s.start(i) || moved
		if st.initialized {
			continue
		}
		if c.kind == initContainer && !succeeded(c) {
			return moved
		}
		if c.kind == sidecarContainer && !s.checkStarted(i) {
			return moved
		}
	}
	return moved
}

func succeeded(c *container) bool {
	return c.phase == exited && c.termination != nil && c.termination.ExitCode == 0
}

// start runs a container if it has not run yet or is to run again.
func (s *stepper) start(i int) bool {
	c, ref := &s.state.containers[i], s.refs[i]
	switch c.phase {
	case running:
		return s.replace(c, ref)
	case exited, backingOff:
		if !restarts(s.pod, ref, c) || !s.restartDue(c, ref) {
			return false
		}
	}
	if !s.pull(c, ref) || s.configFails(c, ref) {
		return false
	}
	if c.phase != created {
		c.restarts++
		c.last, c.termination = c.termination, nil
		if !c.changed {
			c.delay, c.raisedAt = s.backoff.next(s.backoff.pending(c.delay, c.raisedAt, c.finishedAt)), s.now
		}
	}
	s.report(&ref, corev1.EventTypeNormal, "Created", "Container created")
	s.report(&ref, corev1.EventTypeNormal, "Started", "Container started")
	does := behaviourOf(s.pod, ref.Container, c.kind, s.lat)
	c.phase, c.image, c.startedAt, c.changed = running, ref.Image, s.now, false
	c.exitAt, c.exitCode = after(s.now, does.runs), does.exitCode
	return true
}

// mountFails is whether a volume misses what it is to hold. It is reported once for
// each reason.
func (s *stepper) mountFails() bool {
	for _, n := range s.missing {
		if n.volume == "" {
			continue
		}
		if message := n.mountMessage(); s.state.mountError != message {
			s.state.mountError = message
			s.report(nil, corev1.EventTypeWarning, "FailedMount", message)
		}
		return true
	}
	s.state.mountError = ""
	return false
}

// configFails is whether a container's environment misses something. It is reported
// once for each reason.
func (s *stepper) configFails(c *container, ref containerRef) bool {
	for _, n := range s.missing {
		if n.container != c.name {
			continue
		}
		if message := n.configMessage(s.pod.Namespace); c.configError != message {
			c.configError = message
			s.report(&ref, corev1.EventTypeWarning, "Failed", "Error: "+message)
		}
		return true
	}
	c.configError = ""
	return false
}

// replace stops a container whose image is not that of the pod's spec any more.
func (s *stepper) replace(c *container, ref containerRef) bool {
	if c.image == ref.Image || c.changed || c.kind == initContainer || c.kind == ephemeralContainer {
		return false
	}
	c.changed = true
	s.report(&ref, corev1.EventTypeNormal, "Killing", "Container "+c.name+" definition changed, will be restarted")
	s.signal(c, ref, s.now.Add(s.grace()))
	return true
}

// restarts is whether a container that has ended is to be started again (KEP-5307
// for rules of single containers).
func restarts(pod *corev1.Pod, ref containerRef, c *container) bool {
	if ref.kind == ephemeralContainer {
		return false
	}
	if c.changed {
		return true
	}
	code := c.termination.ExitCode
	for _, rule := range ref.RestartPolicyRules {
		if rule.Action == corev1.ContainerRestartRuleActionRestart && ruleMatches(rule.ExitCodes, code) {
			return true
		}
	}
	policy := pod.Spec.RestartPolicy
	if ref.RestartPolicy != nil {
		policy = corev1.RestartPolicy(*ref.RestartPolicy)
	}
	if ref.kind == initContainer {
		return code != 0 && policy != corev1.RestartPolicyNever
	}
	return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
}

func ruleMatches(codes *corev1.ContainerRestartRuleOnExitCodes, code int32) bool {
	if codes == nil {
		return false
	}
	in := false
	for _, value := range codes.Values {
		in = in || value == code
	}
	return in == (codes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn)
}

// restartDue is whether the time for a restart has come, by the latency and the
// back-off.
func (s *stepper) restartDue(c *container, ref containerRef) bool {
	if c.changed {
		return true
	}
	delay := s.backoff.pending(c.delay, c.raisedAt, c.finishedAt)
	if delay == 0 {
		return s.due(c.finishedAt.Add(s.lat.ContainerRestart))
	}
	if s.due(c.finishedAt.Add(delay)) {
		return true
	}
	if c.phase != backingOff {
		c.phase = backingOff
		s.report(&ref, corev1.EventTypeWarning, "BackOff",
			fmt.Sprintf("Back-off restarting failed container %s in pod %s", c.name, podTitle(s.pod)))
	}
	return false
}

// podTitle is how kubelets write of a pod in messages.
func podTitle(pod *corev1.Pod) string {
	return pod.Name + "_" + pod.Namespace + "(" + string(pod.UID) + ")"
}

// finish ends the pod when none of the containers that it is for runs or will run
// again: sidecars are then stopped.
func (s *stepper) finish() bool {
	st := &s.state
	if st.terminating || st.ended || !st.sandbox {
		return false
	}
	for i := range st.containers {
		c, ref := &st.containers[i], s.refs[i]
		switch {
		case c.kind == initContainer && !st.initialized && c.phase == exited && !restarts(s.pod, ref, c) && !succeeded(c):
			s.terminate(s.now.Add(s.grace()))
			return true
		case c.kind == appContainer && (c.phase == created || c.phase == running || restarts(s.pod, ref, c)):
			return false
		}
	}
	s.terminate(s.now.Add(s.grace()))
	return true
}

// probe asks the containers that run whether they have started and are ready.
func (s *stepper) probe() {
	for i := range s.state.containers {
		if c := &s.state.containers[i]; c.phase == running {
			s.checkStarted(i)
		}
	}
}

// checkStarted keeps the container's probes; true when it has started.
func (s *stepper) checkStarted(i int) bool {
	c, ref := &s.state.containers[i], s.refs[i]
	if c.phase != running {
		return false
	}
	does := behaviourOf(s.pod, ref.Container, c.kind, s.lat)
	c.started = c.started || s.dueAfter(c.startedAt, does.started)
	c.ready = c.started && c.unready == "" && s.dueAfter(c.startedAt, sum(does.started, does.ready))
	return c.started
}

func (s *stepper) dueAfter(t time.Time, d time.Duration) bool {
	return d != forever && s.due(t.Add(d))
}
