package format

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// stepFields are the names of what a step can do.
func stepFields() []string {
	var names []string
	for name := range fieldsOf(reflect.TypeFor[Step]()) {
		if name != "name" && name != "background" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Title is the step's name, or what it says of itself.
func (s *Step) Title() string {
	if s.Name != "" {
		return s.Name
	}
	title := s.ownTitle()
	if s.Background {
		title += " (in the background)"
	}
	return title
}

func (s *Step) ownTitle() string {
	switch {
	case s.Apply != nil:
		return "apply " + s.Apply.title()
	case s.Create != nil:
		return "create " + s.Create.title()
	case s.Patch != nil:
		return "patch " + s.Patch.Target
	case s.Scale != nil:
		return fmt.Sprintf("scale %s to %d", s.Scale.Target, *s.Scale.Replicas)
	case s.Delete != nil:
		return strings.TrimSuffix("delete "+s.Delete.Target+" "+s.Delete.Selector, " ")
	case s.Wait != nil:
		return s.Wait.title()
	case s.Sleep != nil:
		return "sleep " + time.Duration(*s.Sleep).String()
	case s.Advance != nil:
		return "advance " + time.Duration(*s.Advance).String()
	case s.Script != nil:
		return "script " + firstLine(s.Script.Run)
	case s.Kubectl != nil:
		return "kubectl " + strings.Join(s.Kubectl.Args, " ")
	case s.Kill != nil:
		return s.Kill.title()
	case s.Fault != nil:
		return s.Fault.Title()
	case s.Expect != nil:
		return "expect " + s.Expect.Title()
	case s.Remember != nil:
		return "remember"
	case s.Reconcile != nil:
		return fmt.Sprintf("reconcile by %s for %v", s.Reconcile.By, time.Duration(s.Reconcile.For))
	}
	return s.compoundTitle()
}

func (s *Step) compoundTitle() string {
	switch {
	case s.Parallel != nil:
		return fmt.Sprintf("%d things in parallel", len(s.Parallel))
	case s.Repeat != nil && s.Repeat.Until != nil:
		return fmt.Sprintf("repeat up to %d times until %s", s.Repeat.Times, s.Repeat.Until.Title())
	case s.Repeat != nil:
		return fmt.Sprintf("repeat %d times", s.Repeat.Times)
	case s.ForEach != nil && s.ForEach.Target != "":
		return strings.TrimSuffix("for each of "+s.ForEach.Target+" "+s.ForEach.Selector, " ")
	case s.ForEach != nil:
		return "for each of " + strings.Join(s.ForEach.In, ", ")
	case s.Choose != nil:
		return fmt.Sprintf("choose %d of %d", s.Choose.Count, len(s.Choose.Of))
	case s.Include != nil:
		return "include " + s.Include.File
	}
	return "nothing"
}

func firstLine(text string) string {
	line, more, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if more != "" {
		line += " ..."
	}
	return line
}

func (a *Apply) title() string {
	var names []string
	for _, o := range a.All() {
		names = append(names, o.Title())
	}
	if len(names) > maxTitled {
		more := len(names) - maxTitled + 1
		names = append(names[:maxTitled-1], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// maxTitled is how many objects a title names.
const maxTitled = 5

func (w *Wait) title() string {
	target := w.Target
	if w.Selector != "" {
		target += " " + w.Selector
	}
	return fmt.Sprintf("wait for %s of %s", w.For, target)
}

func (k *Kill) title() string {
	if k.Node != "" {
		return "kill node/" + k.Node
	}
	verb := "kill"
	if k.Pods.Evict {
		verb = "evict"
	}
	return fmt.Sprintf("%s %d of the pods %s", verb, k.Pods.Count, k.Pods.Selector)
}

// Title says in short what is expected.
func (e *Expect) Title() string {
	var parts []string
	for _, o := range e.Objects {
		parts = append(parts, o.Title())
	}
	for _, o := range e.Absent {
		parts = append(parts, "no "+strings.TrimPrefix(o.Title(), "any "))
	}
	for _, c := range e.Counts {
		parts = append(parts, c.Title())
	}
	for _, expression := range e.CEL {
		parts = append(parts, firstLine(expression))
	}
	return strings.Join(parts, ", ")
}

// Title says how many there must be of what.
func (c *Count) Title() string {
	var bounds []string
	for _, b := range []struct {
		word  string
		value *int
	}{{"", c.Equals}, {"at least ", c.Min}, {"at most ", c.Max}} {
		if b.value != nil {
			bounds = append(bounds, fmt.Sprintf("%s%d", b.word, *b.value))
		}
	}
	return strings.Join(bounds, " and ") + " " + c.Target
}

// Which says what the objects that are counted have in common.
func (c *Count) Which() string {
	var parts []string
	for _, selector := range []string{c.Selector, c.FieldSelector} {
		if selector != "" {
			parts = append(parts, selector)
		}
	}
	if len(c.Where) > 0 {
		if data, err := json.Marshal(c.Where); err == nil {
			parts = append(parts, string(data))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " with " + strings.Join(parts, " and ")
}
