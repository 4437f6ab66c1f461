package spec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

func (d *decoder) checkExpect(e *Expect, field string) {
	if len(e.Objects)+len(e.Absent)+len(e.Counts)+len(e.CEL)+len(e.Reachable) == 0 {
		d.problem(e.Line, field, "needs objects, absent, counts, cel or reachable")
	}
	for name, objects := range map[string][]Object{"objects": e.Objects, "absent": e.Absent} {
		for i := range objects {
			if o := &objects[i]; o.GetAPIVersion() == "" || o.GetKind() == "" {
				d.problem(o.Line, fmt.Sprintf("%s.%s[%d]", field, name, i), "an expected object needs apiVersion and kind")
			}
		}
	}
	for i := range e.Counts {
		at := fmt.Sprintf("%s.counts[%d]", field, i)
		d.check(e.Line, at, e.Counts[i].check())
		d.check(e.Line, at+".selector", LabelSelector(e.Counts[i].Selector))
		d.check(e.Line, at+".fieldSelector", FieldSelector(e.Counts[i].FieldSelector))
	}
	names := d.checkGiven(e.Given, e.Line, field)
	for i, expression := range e.CEL {
		if d.options.CEL != nil {
			d.check(e.Line, fmt.Sprintf("%s.cel[%d]", field, i), d.options.CEL(expression, names, true))
		}
	}
	for i := range e.Reachable {
		e.Reachable[i].Check(func(name string, err error) { d.check(e.Line, fmt.Sprintf("%s.reachable[%d].%s", field, i, name), err) })
	}
	d.checkWithin(e.Within, e.Line, field)
}

func (c *Count) check() error {
	switch err := OfKind(c.Target); {
	case err != nil:
		return fmt.Errorf("target %w", err)
	case c.Equals == nil && c.Min == nil && c.Max == nil:
		return errors.New("say how many: equals, min or max")
	case c.Min != nil && c.Max != nil && *c.Min > *c.Max:
		return fmt.Errorf("min %d is above max %d", *c.Min, *c.Max)
	case c.Equals != nil && (c.Min != nil || c.Max != nil):
		return errors.New("equals says it all: leave out min and max")
	}
	for _, bound := range []*int{c.Equals, c.Min, c.Max} {
		if bound != nil && *bound < 0 {
			return fmt.Errorf("there are never fewer than 0 objects: %d", *bound)
		}
	}
	return nil
}

func (d *decoder) checkGiven(given map[string]Given, line int, field string) []string {
	names := slices.Sorted(maps.Keys(given))
	for _, name := range names {
		g, at := given[name], join(field+".given", name)
		_, one, err := SplitTarget(g.Target)
		switch {
		case slices.Contains(ReservedNames(), name):
			d.problem(line, at, "%q is something else in expressions: choose another name", name)
		case !IsVariableName(name):
			d.problem(line, at, "%q cannot be a name in an expression: it is of letters, digits and _", name)
		case err != nil:
			d.problem(line, at+".target", "%v", err)
		case one != "" && g.Selector+g.FieldSelector != "":
			d.problem(line, at, "names one object, so that a selector has no use")
		}
		d.check(line, at+".selector", LabelSelector(g.Selector))
		d.check(line, at+".fieldSelector", FieldSelector(g.FieldSelector))
	}
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(ReservedNames(), name) })
}

// ReservedNames are the names that expressions have without being given them.
func ReservedNames() []string {
	return []string{"now", "elapsed", "vars", "remembered", "metrics", "object"}
}

func (d *decoder) checkInvariant(i *Invariant, field string) {
	set := 0
	for _, e := range []*Expect{i.Always, i.Never, i.Eventually} {
		if e != nil {
			set++
		}
	}
	if set != 1 {
		d.problem(i.Line, field, "an invariant has one of always, never and eventually")
		return
	}
	name := map[bool]string{true: "eventually"}[i.Eventually != nil]
	switch {
	case i.Always != nil:
		name = "always"
	case i.Never != nil:
		name = "never"
	}
	check := i.Check()
	switch {
	case name == "eventually" && check.Within == 0:
		d.problem(i.Line, field+".eventually.within", "is missing: within which time must it hold again?")
	case name != "eventually" && check.Within != 0:
		d.problem(i.Line, field+"."+name+".within", "has no meaning here: %s is about every moment", name)
	}
	d.checkExpect(check, field+"."+name)
	d.checkStepName(i.After, i.Line, field+".after")
	d.checkStepName(i.Until, i.Line, field+".until")
	if i.Name == "" {
		i.Name = name + " " + check.Title()
	}
	if slices.Contains(d.names.invariants, i.Name) {
		d.problem(i.Line, field+".name", "there are two invariants called %q", i.Name)
	}
	d.names.invariants = append(d.names.invariants, i.Name)
}

// checkStepName reports a name that no step has, or that several have.
func (d *decoder) checkStepName(step string, line int, field string) {
	if step == "" {
		return
	}
	lines := d.names.steps[step]
	switch names := slices.Sorted(maps.Keys(d.names.steps)); {
	case len(names) == 0:
		d.problem(line, field, "no step is called %q: give a step that name", step)
	case len(lines) == 0:
		d.problem(line, field, "no step is called %q: %s", step, DidYouMean(step, names))
	case len(lines) > 1:
		d.problem(line, field, "the steps of lines %d and %d are both called %q: give one another name", lines[0], lines[1], step)
	}
}
