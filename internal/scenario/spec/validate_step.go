package spec

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// checkSteps checks that each step has one kind, and checks the kind's value.
func (d *decoder) checkSteps(steps []Step, field string) {
	for i := range steps {
		s := &steps[i]
		at := fmt.Sprintf("%s[%d]", field, i)
		d.nameStep(s)
		switch len(s.kinds) {
		case 0:
			d.problem(s.Line, at, "a step needs one of %s", strings.Join(stepKindNames(d.options.Steps), ", "))
		case 1:
			s.Kind.Check(&Checker{Step: s, d: d, line: s.Line, field: join(at, s.Kind.Name()), before: len(*d.problems)}, s.Value)
		default:
			d.problem(s.Line, at, "a step does one thing, but this has %s: make them steps of their own", strings.Join(s.kinds, " and "))
		}
	}
}

// nameStep keeps the name of a step for the invariants that refer to it. A body's steps are
// read several times, and count once.
func (d *decoder) nameStep(s *Step) {
	if s.Name == "" || d.names == nil || slices.Contains(d.names.steps[s.Name], s.Line) {
		return
	}
	if d.names.steps == nil {
		d.names.steps = map[string][]int{}
	}
	d.names.steps[s.Name] = append(d.names.steps[s.Name], s.Line)
}

// checkWithin refuses a limit that the run's timeout never lets come.
func (d *decoder) checkWithin(within Duration, line int, field string) {
	if d.names != nil && d.names.timeout > 0 && time.Duration(within) > d.names.timeout {
		d.problem(line, field+".within", "is %v, but spec.timeout ends the run after %v: raise that, or lower this", time.Duration(within), d.names.timeout)
	}
}

// checkBody reads a body once, to find its problems.
func (d *decoder) checkBody(b *Body, vars map[string]string, line int, field string) {
	if b.node == nil {
		d.problem(line, field, "is empty: say what to do")
		return
	}
	// With may be called at any time: it must neither see later changes of the decoder nor add to
	// its state.
	known := *d
	known.checking = false
	b.decoder, b.field = &known, field
	reading := d.with(vars)
	reading.checking = false
	b.Steps = reading.steps(b.node, field)
	if len(b.Steps) == 0 {
		d.problem(line, field, "is empty: say what to do")
	}
}
