package fault

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Problem is one thing that is wrong with a Fault.
type Problem struct {
	// Line is its line; 0 if that is not known.
	Line int
	// Field is its path within the fault, such as pods.action.
	Field   string
	Message string
}

func (p Problem) Error() string {
	text := p.Message
	if p.Field != "" {
		text = p.Field + ": " + text
	}
	if p.Line > 0 {
		text = fmt.Sprintf("line %d: %s", p.Line, text)
	}
	return text
}

// checker collects problems with one part of a fault.
type checker struct {
	line     int
	prefix   string
	fault    *Fault
	problems []Problem
}

func (c *checker) problem(field, format string, args ...any) {
	path := strings.Trim(c.prefix+"."+field, ".")
	c.problems = append(c.problems, Problem{Line: c.line, Field: path, Message: fmt.Sprintf(format, args...)})
}

// Validate returns all that is wrong with a fault, and fills in its defaults. Run may be
// called only on a fault without problems.
func (f *Fault) Validate() []Problem {
	c := &checker{line: f.Line, fault: f}
	switch parts := f.parts(); len(parts) {
	case 0:
		c.problem("", "says nothing of what to break; give one of pods, nodes, network, dns, http, apiserver, etcd, webhooks, controllers, clock")
		return c.problems
	case 1:
		c.prefix = parts[0].name
		parts[0].kind.check(c)
		c.prefix = ""
	default:
		var names []string
		for _, p := range parts {
			names = append(names, p.name)
		}
		c.problem("", "breaks one thing, but this has %s: make them faults of their own", strings.Join(names, " and "))
		return c.problems
	}
	if len(c.problems) == 0 {
		f.checkTimes(c)
	}
	return c.problems
}

func (f *Fault) checkTimes(c *checker) {
	for name, d := range map[string]Duration{"for": f.For, "every": f.Every, "during": f.During, "within": f.Within} {
		if d < 0 {
			c.problem(name, "must not be negative: %v", time.Duration(d))
		}
	}
	lasts := f.Lasts()
	row, _ := f.kind().action()
	switch {
	case f.For > 0 && row.Lasts == Momentary:
		c.problem("for", "has no meaning here: there is nothing that lasts")
	case f.Repeats() && lasts && f.For == 0:
		c.problem("for", "is missing: say how long it lasts each time")
	case f.Every > 0 && f.For > f.Every:
		c.problem("for", "is longer than every (%v): the next time would begin before the last has ended", time.Duration(f.Every))
	}
	if f.Within > 0 && f.For > f.Within {
		c.problem("within", "is shorter than for (%v): the fault cannot end in time", time.Duration(f.For))
	}
	if f.Every > 0 && f.Schedule != "" {
		c.problem("schedule", "and every cannot both be given")
	}
	if f.Schedule != "" {
		schedule, err := cron.ParseStandard(f.Schedule)
		switch {
		case err != nil:
			c.problem("schedule", "%q is not a schedule such as \"*/5 * * * *\": %v", f.Schedule, err)
		case schedule.Next(time.Unix(0, 0)).IsZero():
			c.problem("schedule", "%q never comes: there is no such day", f.Schedule)
		}
	}
	if f.Jitter < 0 || f.Jitter > 50 {
		c.problem("jitter", "is a percentage from 0 to 50: %d", f.Jitter)
	}
	if f.Jitter > 0 && f.Every == 0 {
		c.problem("jitter", "has no meaning without every")
	}
	if f.Times < 0 {
		c.problem("times", "must not be negative: %d", f.Times)
	}
	if !f.Repeats() && (f.Times > 0 || f.During > 0) {
		c.problem("every", "is missing: say how often it happens, by every or schedule")
	}
}

// row checks that the action of a part is known, and that the fields which are set have a
// meaning for it.
func (c *checker) row(part any, action string) {
	i := slices.IndexFunc(Parts(), func(p Part) bool { return p.is == reflect.TypeOf(part).Elem() })
	p := Parts()[i]
	known := strings.Join(names(p.Actions), ", ")
	if action == "" {
		c.problem("action", "is missing; known are %s", known)
		return
	}
	if _, ok := find(p.Actions, action); !ok {
		c.problem("action", "%q is not known; known are %s", action, known)
		return
	}
	for _, f := range fieldsOf(p.is) {
		if set := reflect.ValueOf(part).Elem().FieldByIndex(f.index); !set.IsZero() && !allows(p.Actions, action, f.Name) {
			c.problem(f.Name, "has no meaning for %s, only for %s", action, strings.Join(takers(p.Actions, f.Name), ", "))
		}
	}
}

func (c *checker) selector(field, text string) {
	if _, err := labels.Parse(text); err != nil {
		c.problem(field, "%q is not a label selector (such as app=web): %v", text, err)
	}
}

func (c *checker) fieldSelector(field, text string) {
	if _, err := fields.ParseSelector(text); err != nil {
		c.problem(field, "%q is not a field selector (such as spec.nodeName=node-0): %v", text, err)
	}
}

func (c *checker) positive(field string, d Duration) {
	if d <= 0 {
		c.problem(field, "is missing: say how long, such as 5s")
	}
}
