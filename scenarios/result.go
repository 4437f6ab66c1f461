package scenarios

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// Progress is called during a run. No two of its methods are called at once.
type Progress interface {
	// Begin is called before the cluster starts.
	Begin(s *Scenario)
	// StepBegins and StepEnded are called for the scenario's own steps, not for those
	// within them.
	StepBegins(title string)
	StepEnded(step StepResult)
	// BackgroundNote is called for the notes of a step in the background.
	BackgroundNote(title, note string)
	// Stalled is called when a run has made no progress for so long by the machine's
	// clock; inFlight names the work that keeps virtual time from moving.
	Stalled(d time.Duration, inFlight string)
	End(result *Result)
}

// CheckProgress is implemented by a Progress that shows what checks wait for, and what goes on
// in the background. As with Progress, no two of its methods are called at once.
type CheckProgress interface {
	// Differs is called each time that the check of one of the scenario's own steps, or of a
	// step in the background, was looked at and does not hold yet.
	Differs(title string, err error)
	// Watched is called when an invariant begins to be watched, and Violated when it is
	// violated, which ends the run.
	Watched(invariant string)
	Violated(invariant string, err error)
	// BackgroundEnded is called when a step in the background is over; err is nil if the run
	// ended it.
	BackgroundEnded(title string, err error)
}

// Result is the outcome of a run.
type Result struct {
	Scenario *Scenario
	Seed     uint64
	Steps    []StepResult
	// Cluster and Real are the time that passed in the cluster and on the machine. Real includes
	// the cluster's start.
	Cluster, Real time.Duration
	// Processor is the processor time of the process meanwhile, which other runs may share; 0 if
	// the system does not say.
	Processor time.Duration
	// Failure is why the scenario failed; nil if it passed.
	Failure error
	// Expected is the failure that the scenario expects (spec.fails), and with which the run
	// ended; nil: there is none.
	Expected error
	// Interrupted says that the run was ended before it was over; Failure says why.
	Interrupted bool
	// Run is the record of the run.
	Run *runrecord.Run
}

// StepResult is the outcome of a step.
type StepResult struct {
	Title string
	// Background says that the step goes on in the background.
	Background bool
	Notes      []string
	// Cluster and Real are its duration by the cluster's and the machine's clock. Processor is the
	// processor time of the process meanwhile.
	Cluster, Real, Processor time.Duration
	Failure                  error
}

// Text is the report's last line: PASS or FAIL, with what to type to see it again.
func (r *Result) Text() string {
	word := "PASS"
	switch {
	case r.Interrupted:
		word = "INTERRUPTED"
	case r.Failure != nil:
		word = "FAIL"
	}
	if r.Expected != nil {
		word = "PASS (it failed as expected)"
	}
	return fmt.Sprintf("%s %s in %v (%v of the cluster's time, seed %s)", word, r.Scenario.Metadata.Name,
		r.Real.Round(time.Millisecond), r.Cluster.Round(time.Millisecond), strconv.FormatUint(r.Seed, 10))
}

// expect turns the failure that a scenario expects into a pass, and any other end into a failure.
func (r *Result) expect(fails string) {
	switch {
	case fails == "" || r.Interrupted:
	case r.Failure == nil:
		r.Failure = fmt.Errorf("the run should have failed with %q (spec.fails), and passed", fails)
	case strings.Contains(r.Failure.Error(), fails):
		r.Expected, r.Failure = r.Failure, nil
	default:
		r.Failure = fmt.Errorf("the run should have failed with %q (spec.fails), and failed otherwise: %w", fails, r.Failure)
	}
}

// silent is a Progress that says nothing.
type silent struct{}

func (silent) Begin(*Scenario)               {}
func (silent) StepBegins(string)             {}
func (silent) StepEnded(StepResult)          {}
func (silent) BackgroundNote(string, string) {}
func (silent) Stalled(time.Duration, string) {}
func (silent) End(*Result)                   {}
