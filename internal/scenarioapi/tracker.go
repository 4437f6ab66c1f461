package scenarioapi

import (
	"errors"
	"slices"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/scenarios"
)

const (
	// maxNotes caps the notes that are kept for a step, and maxText the bytes of one text.
	maxNotes = 50
	maxText  = 4 << 10
)

// tracker keeps the state of a run for the API. It implements scenarios.Progress and CheckProgress.
type tracker struct {
	id    string
	clock clock.Clock
	// changed is called with mu held after each change; it must not block. It returns the version of the
	// change.
	changed func() uint64

	mu    sync.Mutex
	shown Run
	// version is the version of the last change, and at the time when that was made.
	version uint64
	at      time.Time
	// next is the index of the step that begins next, and own the number of steps outside of "finally".
	next, own int
	// page is the report as a compressed HTML page; nil: there is none.
	page []byte
}

func newTracker(id, user string, s *scenarios.Scenario, seed uint64, c clock.Clock, changed func() uint64) *tracker {
	now := c.Now().UTC()
	t := &tracker{id: id, clock: c, changed: changed, version: changed(), at: now, own: len(s.Spec.Steps), shown: Run{
		ID: id, Scenario: s.Metadata.Name, Description: s.Spec.Description, User: user, Seed: seed, State: Running, Since: now,
	}}
	for i := range s.Spec.Steps {
		t.shown.Steps = append(t.shown.Steps, Step{Title: short(s.Spec.Steps[i].Title()), State: StepWaiting})
	}
	for i := range s.Spec.Finally {
		t.shown.Steps = append(t.shown.Steps, Step{Title: short(s.Spec.Finally[i].Title()), State: StepWaiting, Last: true})
	}
	for i := range s.Spec.Invariants {
		t.shown.Invariants = append(t.shown.Invariants, Invariant{Name: short(s.Spec.Invariants[i].Name), State: StepWaiting})
	}
	return t
}

// look returns the present state of the run; a summary has only the fields that lists show.
func (t *tracker) look(summary bool) Run {
	t.mu.Lock()
	defer t.mu.Unlock()
	if summary {
		shown := t.shown
		shown.Steps, shown.Invariants, shown.Notes, shown.Causes, shown.Report = nil, nil, nil, nil, nil
		return shown
	}
	return t.lookLocked()
}

func (t *tracker) lookLocked() Run {
	shown := t.shown
	shown.Steps, shown.Invariants, shown.Notes = slices.Clone(shown.Steps), slices.Clone(shown.Invariants), slices.Clone(shown.Notes)
	for i := range shown.Steps {
		shown.Steps[i].Notes = slices.Clone(shown.Steps[i].Notes)
	}
	return shown
}

// keptPage returns the name of the scenario, and the report as a compressed HTML page; nil if there is
// none.
func (t *tracker) keptPage() (scenario string, page []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shown.Scenario, t.page
}

func (t *tracker) change(do func(r *Run, now time.Time)) {
	now := t.clock.Now().UTC()
	t.mu.Lock()
	defer t.mu.Unlock()
	do(&t.shown, now)
	t.at = now
	t.version = t.changed()
}

// current returns the present state, when it was reached, and its version.
func (t *tracker) current() (run Run, at time.Time, version uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lookLocked(), t.at, t.version
}

// stopping shows that the run was asked to stop.
func (t *tracker) stopping() {
	t.change(func(r *Run, _ time.Time) {
		if r.State == Running {
			r.State = Stopping
		}
	})
}

// Begin implements scenarios.Progress.
func (t *tracker) Begin(*scenarios.Scenario) {}

// StepBegins implements scenarios.Progress. Steps begin in their order; after a failure, the steps of "finally"
// follow.
func (t *tracker) StepBegins(string) {
	t.change(func(r *Run, now time.Time) {
		if t.next < len(r.Steps) {
			r.Steps[t.next].State, r.Steps[t.next].Since = StepActive, &now
		}
	})
}

// StepEnded implements scenarios.Progress.
func (t *tracker) StepEnded(done scenarios.StepResult) {
	t.change(func(r *Run, now time.Time) {
		if t.next >= len(r.Steps) {
			return
		}
		step := &r.Steps[t.next]
		if t.next++; done.Failure != nil && t.next < t.own {
			skip(r.Steps[t.next:t.own])
			t.next = t.own
		}
		for _, note := range done.Notes {
			step.note(note)
		}
		if !done.Background {
			step.RealSeconds = done.Real.Seconds()
		}
		switch {
		case done.Failure != nil:
			step.State, step.Until, step.Failure = StepFailed, &now, short(done.Failure.Error())
		case step.State == StepActive && done.Background:
			step.State = StepBackground
		case step.State == StepActive:
			step.State, step.Until, step.Differs = StepDone, &now, ""
		}
	})
}

func skip(steps []Step) {
	for i := range steps {
		if steps[i].State == StepWaiting {
			steps[i].State = StepSkipped
		}
	}
}

// note adds a note to the step, and drops the oldest ones beyond maxNotes.
func (s *Step) note(text string) {
	s.Notes = append(s.Notes, short(text))
	if surplus := len(s.Notes) - maxNotes; surplus > 0 {
		s.Notes = slices.Delete(s.Notes, 0, surplus)
		s.Forgotten += surplus
	}
}

// active returns the step of that title which has not ended; nil if there is none.
func (r *Run) active(title string) *Step {
	title = short(title)
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Title == title && (s.State == StepActive || s.State == StepBackground) {
			return s
		}
	}
	return nil
}

// BackgroundNote implements scenarios.Progress. A note without a step belongs to the run.
func (t *tracker) BackgroundNote(title, note string) {
	t.change(func(r *Run, _ time.Time) {
		if step := r.active(title); step != nil {
			step.note(note)
		} else if len(r.Notes) < maxNotes {
			r.Notes = append(r.Notes, short(title+": "+note))
		}
	})
}

// BackgroundEnded implements scenarios.CheckProgress.
func (t *tracker) BackgroundEnded(title string, err error) {
	t.change(func(r *Run, now time.Time) {
		step := r.active(title)
		switch {
		case step == nil:
		case err != nil:
			step.State, step.Until, step.Failure = StepFailed, &now, short(err.Error())
		default:
			step.State, step.Until, step.Differs = StepDone, &now, ""
		}
	})
}

// Differs implements scenarios.CheckProgress.
func (t *tracker) Differs(title string, err error) {
	t.change(func(r *Run, _ time.Time) {
		if step := r.active(title); step != nil {
			step.Differs = short(err.Error())
		}
	})
}

// Watched implements scenarios.CheckProgress.
func (t *tracker) Watched(invariant string) { t.invariant(invariant, StepActive, nil) }

// Violated implements scenarios.CheckProgress.
func (t *tracker) Violated(invariant string, err error) { t.invariant(invariant, StepFailed, err) }

func (t *tracker) invariant(name string, state StepState, err error) {
	t.change(func(r *Run, _ time.Time) {
		for i := range r.Invariants {
			if one := &r.Invariants[i]; one.Name == short(name) {
				one.State = state
				if err != nil {
					one.Failure = short(err.Error())
				}
			}
		}
	})
}

// Stalled implements scenarios.Progress.
func (t *tracker) Stalled(d time.Duration, inFlight string) {
	t.BackgroundNote("no progress", "for "+d.String()+" of the machine's time; in flight: "+inFlight)
}

// End implements scenarios.Progress. The run is over only when ended is called.
func (t *tracker) End(*scenarios.Result) {}

// ended shows how the run ended.
func (t *tracker) ended(result *scenarios.Result, err error) {
	t.change(func(r *Run, now time.Time) {
		r.Until = &now
		skip(r.Steps)
		for i := range r.Invariants {
			if r.Invariants[i].State == StepActive {
				r.Invariants[i].State = StepDone
			}
		}
		switch {
		case err != nil:
			r.State, r.Failure = Failed, short(err.Error())
			if errors.Is(err, errStopped) {
				r.State = Stopped
			}
		case result.Interrupted:
			r.State, r.Failure = Stopped, short(result.Failure.Error())
		case result.Failure != nil:
			r.State, r.Failure = Failed, short(result.Failure.Error())
			for _, f := range result.Run.Failures {
				for _, cause := range f.Causes {
					r.Causes = append(r.Causes, short(cause))
				}
			}
		default:
			r.State = Passed
		}
	})
}

// short cuts a text that is too long.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	return text[:maxText] + "…"
}
