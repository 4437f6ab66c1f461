package runrecord

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/reasons"
)

// The type of a saved run. A change that a reader of an older version would
// misunderstand gets a new version.
const (
	APIVersion = "minikcm.dev/v1alpha1"
	Kind       = "ScenarioRun"
)

// Verdict is the outcome of a run.
type Verdict string

// The ends of a run.
const (
	Passed Verdict = "Passed"
	Failed Verdict = "Failed"
	// Interrupted: the run was ended from outside before it was over.
	Interrupted Verdict = "Interrupted"
)

// Run is the record of a run, to be reported, saved, compared and explained.
type Run struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Scenario is the scenario that was run, and how.
	Scenario Scenario `json:"scenario"`
	Verdict  Verdict  `json:"verdict"`
	// Message is why the run failed or was interrupted.
	Message string `json:"message,omitempty"`
	// ExpectedFailure is the failure with which the run ended, as its scenario expects
	// (spec.fails); the verdict is then Passed.
	ExpectedFailure string `json:"expectedFailure,omitempty"`
	// Began is when it was run, by the machine's clock.
	Began time.Time `json:"began"`
	// Start is the cluster's time at which the record begins. All other times are offsets from it
	// in nanoseconds, except the times of writes.
	Start time.Time `json:"start"`
	// Cluster and Real are the time that passed in the cluster and on the machine, in nanoseconds.
	Cluster time.Duration `json:"clusterDuration"`
	Real    time.Duration `json:"realDuration"`
	// Spans are the steps, faults and checks, in the order in which they began.
	Spans []Span `json:"spans"`
	// NotReached are the titles of the steps that a failure has kept from beginning.
	NotReached []string `json:"notReached,omitempty"`
	// NotReproducible are the steps that ran other programs, whose speed decides how much of the
	// cluster's time they take: another run with the same seed may differ from the first of them
	// on.
	NotReproducible []string `json:"notReproducible,omitempty"`
	// Failures are the checks that did not hold.
	Failures []Failure `json:"failures,omitempty"`
	// Traffic is the traffic of the run, one entry a route.
	Traffic []Traffic `json:"traffic,omitempty"`
	// Pods are the pods by phase over time, and Controllers what each did over time.
	Pods        Pods         `json:"pods"`
	Controllers []Controller `json:"controllers,omitempty"`
	// NotAsExpected are objects that were not as expected at the end of a run that did not
	// pass: at most maxNotAsExpected.
	NotAsExpected []Reasons `json:"notAsExpected,omitempty"`
	// Writes and Events are the oldest and the newest, in their order.
	Writes []minikcm.Write `json:"writes,omitempty"`
	Events []Event         `json:"events,omitempty"`
	// Refusals are the requests that were refused, in as many entries as the cluster keeps; see
	// minikcm.Refusal.
	Refusals []minikcm.Refusal `json:"refusals,omitempty"`
	// Totals count everything, including what the record has left out.
	Totals Totals `json:"totals"`
}

// ReproducibleText says from which step on another run with the same seed may differ; empty if none
// will.
func (r *Run) ReproducibleText() string {
	if r == nil || len(r.NotReproducible) == 0 {
		return ""
	}
	text := "Not reproducible: " + r.NotReproducible[0]
	if more := len(r.NotReproducible) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + " ran a program, whose speed decides how much of the cluster's time it takes"
}

// Scenario says what was run, so that it can be run again.
type Scenario struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// File is the file that it was read from, and Source the document itself.
	File   string `json:"file,omitempty"`
	Source string `json:"source,omitempty"`
	Seed   uint64 `json:"seed"`
	// Clock is as --clock has it: virtual, real, scaled=N.
	Clock string `json:"clock,omitempty"`
	// Set are the values that were given on the command line.
	Set map[string]string `json:"set,omitempty"`
}

// SpanKind is the kind of a Span.
type SpanKind string

// The kinds of spans.
const (
	Step  SpanKind = "step"
	Fault SpanKind = "fault"
	Check SpanKind = "check"
)

// Span is something that began and ended.
type Span struct {
	Kind SpanKind `json:"kind"`
	// Title describes it, and Line is where it is written in the file; 0 if nowhere.
	Title string `json:"title"`
	Line  int    `json:"line,omitempty"`
	// Parent is the index of the span that it belongs to; -1: none.
	Parent int `json:"parent"`
	// Begin and End are offsets from the run's start; End is -1 if it never ended.
	Begin time.Duration `json:"begin"`
	End   time.Duration `json:"end"`
	// BeginRevision and EndRevision are the newest revisions then: they order what
	// happened at one instant.
	BeginRevision int64 `json:"beginRevision,omitempty"`
	EndRevision   int64 `json:"endRevision,omitempty"`
	// Real is its duration on the machine.
	Real time.Duration `json:"real"`
	// Notes say what was done.
	Notes []Note `json:"notes,omitempty"`
	// Failure is why it failed.
	Failure string `json:"failure,omitempty"`
}

// Note is something that a step or a fault did.
type Note struct {
	At       time.Duration `json:"at"`
	Revision int64         `json:"revision,omitempty"`
	Text     string        `json:"text"`
}

// Failure is a check that did not hold.
type Failure struct {
	At time.Duration `json:"at"`
	// Span is the index of what failed; -1: none, such as the run's own timeout.
	Span int `json:"span"`
	// Check says what should have held, and Message what differed.
	Check   string `json:"check,omitempty"`
	Message string `json:"message"`
	// Diff has a line for every difference, or a whole unified diff.
	Diff []string `json:"diff,omitempty"`
	// Objects are the objects that the check was about.
	Objects []Object `json:"objects,omitempty"`
	// Reasons are why some of the objects, or the owners that make them, were not as
	// expected then. Message has the first reason of each.
	Reasons []Reasons `json:"reasons,omitempty"`
	// Causes has for each object the chain of writes that led to its newest state, as
	// text.
	Causes []string `json:"causes,omitempty"`
}

// Reasons are why an object was not as expected.
type Reasons struct {
	Object Object `json:"object"`
	// Part says that another object controls it, whose reasons may be this one's.
	Part bool `json:"part,omitempty"`
	reasons.Report
}

// String is the first reason as a line; empty if there is none.
func (r *Reasons) String() string {
	return r.Sentence(reasons.FullName(r.Object.Kind, r.Object.Namespace, r.Object.Name))
}

// Object names an object.
type Object struct {
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Event is an event's newest state.
type Event struct {
	At        time.Duration `json:"at"`
	Revision  int64         `json:"revision"`
	Type      string        `json:"type"`
	Reason    string        `json:"reason"`
	Object    Object        `json:"object"`
	Message   string        `json:"message"`
	Count     int32         `json:"count"`
	Component string        `json:"component,omitempty"`
	// UID is the object's UID.
	UID types.UID `json:"uid,omitempty"`
}

// Totals count what happened.
type Totals struct {
	Writes int64 `json:"writes"`
	Events int64 `json:"events"`
	// ForgottenWrites and ForgottenEvents count the writes and events that are not in the run.
	ForgottenWrites int64 `json:"forgottenWrites,omitempty"`
	ForgottenEvents int64 `json:"forgottenEvents,omitempty"`
	// ByActor and ByResource count writes by user and by resource, and ByReason counts
	// events by reason.
	ByActor    map[string]int64 `json:"byActor,omitempty"`
	ByResource map[string]int64 `json:"byResource,omitempty"`
	ByReason   map[string]int64 `json:"byReason,omitempty"`
	// ByActorAndResource counts writes by both, as in "kubelet pods/status".
	ByActorAndResource map[string]int64 `json:"byActorAndResource,omitempty"`
	// Heartbeats are the writes that changed nothing but times.
	Heartbeats int64 `json:"heartbeats,omitempty"`
	// PodsCreated and PodsDeleted count pods.
	PodsCreated int64 `json:"podsCreated"`
	PodsDeleted int64 `json:"podsDeleted"`
}

// Pods are the pods by phase over time.
type Pods struct {
	// Width is how long each of the intervals is.
	Width time.Duration `json:"width"`
	// Phases has a curve for each phase that there was.
	Phases map[Phase]Curve `json:"phases,omitempty"`
}

// Phase is a pod's phase. Running is split by readiness, and pods with a deletion timestamp
// are Terminating.
type Phase string

// The phases, in the order in which a pod passes through them.
const (
	Pending     Phase = "Pending"
	Running     Phase = "Running"
	Ready       Phase = "Ready"
	Terminating Phase = "Terminating"
	Succeeded   Phase = "Succeeded"
	FailedPhase Phase = "Failed"
)

// Curve is a count over time: its least, greatest and last value in each interval.
type Curve struct {
	Min  []int `json:"min"`
	Max  []int `json:"max"`
	Last []int `json:"last"`
}

// Controller is the activity of one writer over time.
type Controller struct {
	Name string `json:"name"`
	// Width is how long each of the intervals is.
	Width time.Duration `json:"width"`
	// Writes and Reconciles are counts in each interval.
	Writes     []int64 `json:"writes,omitempty"`
	Reconciles []int64 `json:"reconciles,omitempty"`
	// Failures are reconciles that failed.
	Failures []int64 `json:"failures,omitempty"`
}
