package main

import (
	"bytes"
	"testing"
	"time"

	"minikcm.dev/minikcm/scenarios"
)

// What a step causes in the background is shown below the step, and what comes while a question waits above
// the question, which is asked again.
func TestNotesOfTours(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newProgress(&out, true, "")
	p.patience, p.allNotes = time.Hour, true
	p.Begin(&scenarios.Scenario{})
	out.Reset()
	p.StepBegins("step")
	p.BackgroundNote("program", "one")
	p.StepEnded(scenarios.StepResult{Title: "step", Notes: []string{"note"}})
	answered := p.ask("[go on] ")
	p.BackgroundNote("program", "two")
	answered()
	p.BackgroundNote("program", "three")
	const want = "  ✓ step  at 0s (0s)\n      note\n  ⋯ program: one\n[go on] \n  ⋯ program: two\n[go on]   ⋯ program: three\n"
	if out.String() != want {
		t.Errorf("printed is\n%q, want\n%q", out.String(), want)
	}
}
