package spec

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Expect says what must hold: now or, with Within, at some time until then.
type Expect struct {
	Within Duration `yaml:"within"`
	// Objects must exist, with at least the fields given. An object without a name
	// must be matched by some object of its kind and namespace.
	Objects []Object `yaml:"objects"`
	// Absent must not exist (or, without a name, none that matches).
	Absent []Object `yaml:"absent"`
	Counts []Count  `yaml:"counts"`
	// Given are the objects and lists that CEL refers to, by name.
	Given map[string]Given `yaml:"given"`
	// CEL are expressions that must be true.
	CEL []string `yaml:"cel"`
	// Reachable are connections that must arrive, or must not.
	Reachable []Reachable `yaml:"reachable"`

	// Line is where it is written.
	Line int `yaml:"-"`
}

// Given is an object, or the objects of a kind.
type Given struct {
	// Target is KIND/NAME (null as long as there is none) or KIND (a list).
	Target        string `yaml:"target"`
	Namespace     string `yaml:"namespace"`
	Selector      string `yaml:"selector"`
	FieldSelector string `yaml:"fieldSelector"`
}

// Count bounds the number of objects of a kind.
type Count struct {
	Target        string `yaml:"target"`
	Namespace     string `yaml:"namespace"`
	Selector      string `yaml:"selector"`
	FieldSelector string `yaml:"fieldSelector"`
	// Where counts only objects that have at least these fields.
	Where  map[string]any `yaml:"where"`
	Equals *int           `yaml:"equals"`
	Min    *int           `yaml:"min"`
	Max    *int           `yaml:"max"`
}

// Invariant is a check over the whole run, evaluated at every event: exactly one of Always, Never
// and Eventually is set.
type Invariant struct {
	// Name is the invariant's name in the report.
	Name string `yaml:"name"`
	// After is the name of a step: it must hold from that step's end on. Until is the
	// name of a step at whose beginning it ends.
	After string `yaml:"after"`
	Until string `yaml:"until"`
	// Always must hold at every moment.
	Always *Expect `yaml:"always"`
	// Never must not hold at any moment.
	Never *Expect `yaml:"never"`
	// Eventually may fail to hold for no longer than its within, every time.
	Eventually *Expect `yaml:"eventually"`

	// Line is where it is written.
	Line int `yaml:"-"`
}

// Check returns the expectation that is set.
func (i *Invariant) Check() *Expect {
	switch {
	case i.Always != nil:
		return i.Always
	case i.Never != nil:
		return i.Never
	}
	return i.Eventually
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
		parts = append(parts, FirstLine(expression))
	}
	for i := range e.Reachable {
		parts = append(parts, e.Reachable[i].Title())
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
