package scenarioapi

import "time"

// State is the state of a run.
type State string

// The states of a run.
const (
	Running State = "Running"
	// Stopping runs were asked to stop: they take back their faults and do their last steps.
	Stopping State = "Stopping"
	Passed   State = "Passed"
	Failed   State = "Failed"
	Stopped  State = "Stopped"
)

// Done reports whether the state is final.
func (s State) Done() bool { return s == Passed || s == Failed || s == Stopped }

// StepState is the state of a step or of an invariant.
type StepState string

// The states of a step. An invariant is Waiting, Active, Failed, or finally Done.
const (
	StepWaiting StepState = "Waiting"
	StepActive  StepState = "Active"
	// StepBackground steps go on while later ones run.
	StepBackground StepState = "Background"
	StepDone       StepState = "Done"
	StepFailed     StepState = "Failed"
	// StepSkipped steps were not reached.
	StepSkipped StepState = "Skipped"
)

// Run is a run of a scenario, as the API shows it. Times are the cluster's.
type Run struct {
	ID          string `json:"id"`
	Scenario    string `json:"scenario"`
	Description string `json:"description,omitempty"`
	// User started it.
	User  string     `json:"user,omitempty"`
	Seed  uint64     `json:"seed"`
	State State      `json:"state"`
	Since time.Time  `json:"since"`
	Until *time.Time `json:"until,omitempty"`
	// Steps are the scenario's steps and then its last ones (spec.finally). Lists of runs have no
	// steps.
	Steps      []Step      `json:"steps,omitempty"`
	Invariants []Invariant `json:"invariants,omitempty"`
	// Notes are about the run as a whole.
	Notes []string `json:"notes,omitempty"`
	// Failure says why it Failed, and Causes which writes led to that.
	Failure string   `json:"failure,omitempty"`
	Causes  []string `json:"causes,omitempty"`
	// Report is set at the end of a run. Lists of runs have none.
	Report *Report `json:"report,omitempty"`
}

// Step is one of a scenario's own steps.
type Step struct {
	Title string    `json:"title"`
	State StepState `json:"state"`
	// Last says that it is done however the run went.
	Last  bool       `json:"last,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	// RealSeconds is its duration by the machine's clock; unknown if it is or was in the
	// background.
	RealSeconds float64 `json:"realSeconds,omitempty"`
	// Differs says why its check did not hold when it was last evaluated.
	Differs string `json:"differs,omitempty"`
	// Notes say what it did. They are the newest; Forgotten counts the older ones that are left
	// out.
	Notes     []string `json:"notes,omitempty"`
	Forgotten int      `json:"forgotten,omitempty"`
	Failure   string   `json:"failure,omitempty"`
}

// Invariant is a check over the run or a part of it.
type Invariant struct {
	Name    string    `json:"name"`
	State   StepState `json:"state"`
	Failure string    `json:"failure,omitempty"`
}

// Shipped is a scenario that is shipped.
type Shipped struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Nodes       int      `json:"nodes"`
	Steps       []string `json:"steps"`
	// Refused says why it cannot run on this cluster; empty if it can.
	Refused string `json:"refused,omitempty"`
}

// Report sums up a run that is over.
type Report struct {
	// ClusterSeconds and RealSeconds are its duration by the cluster's clock and by the machine's.
	ClusterSeconds float64 `json:"clusterSeconds"`
	RealSeconds    float64 `json:"realSeconds"`
	// Passed and Failed count the checks: the steps expect and wait, those within other steps
	// included, and the invariants that were watched.
	Passed int `json:"passed"`
	Failed int `json:"failed"`
	// Checks are the first maxChecks of them, in the order in which they began.
	Checks []Check `json:"checks"`
	// Failures are the first maxFailures failures, including failures of steps that are no checks.
	Failures []Failure `json:"failures,omitempty"`
	// Page says that the report is also served as a page.
	Page bool `json:"page"`
}

// Check is a check that was made.
type Check struct {
	Title string `json:"title"`
	// State is Passed, Failed, or Stopped if the run ended before the check did.
	State State      `json:"state"`
	Since time.Time  `json:"since"`
	Until *time.Time `json:"until,omitempty"`
}

// Failure is a failure in a run.
type Failure struct {
	Time time.Time `json:"time"`
	// Expected says what should have held or been done; empty if the run as a whole failed.
	Expected string `json:"expected,omitempty"`
	// Found says what was found instead. Differs has a line for each difference, such as
	// "spec.replicas: expected 2, found 1". It has at most maxDiffers; ForgottenDiffers counts the
	// others.
	Found            string   `json:"found"`
	Differs          []string `json:"differs,omitempty"`
	ForgottenDiffers int      `json:"forgottenDiffers,omitempty"`
	// Causes are the writes that led to it, a text for each object.
	Causes []string `json:"causes,omitempty"`
}
