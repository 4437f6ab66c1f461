package spec

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// StepKind is the part of a row in the table of step kinds that decodes and checks the text of a step. The caller
// has the table (LoadOptions.Steps). A value is always the pointer that New
// returned, filled by the decoder.
type StepKind interface {
	// Name is the field of a step that holds the value.
	Name() string
	// New returns a pointer to a zero value.
	New() any
	// Check reports what is wrong with a value, and fills in its defaults.
	Check(c *Checker, value any)
	// Title says in a few words what a step with this value does.
	Title(value any) string
	// Steps returns the lists of steps within a value; nil if it holds none.
	Steps(value any) [][]Step
	// Least returns the least time, on the cluster's clock, that the step takes.
	Least(value any) time.Duration
}

// Step is one thing to do.
type Step struct {
	// Name is shown in place of the step's own title.
	Name string `yaml:"name"`
	// Background lets the steps after this one begin at once; it ends by itself, or
	// with the run.
	Background bool `yaml:"background"`
	// Say is a text that the audience of "minikcm demo" reads before the step. Other runs do not
	// show it.
	Say string `yaml:"say"`

	// Kind is the step's kind, and Value its decoded parameters. Kind is nil in a step that names no kind.
	Kind  StepKind `yaml:"-"`
	Value any      `yaml:"-"`

	// Line is the line where the step is written.
	Line int `yaml:"-"`
	// File is the file in which it is written.
	File string `yaml:"-"`

	// kinds are the names of all kinds in the text; a valid step has one.
	kinds []string
}

// readNode decodes the step's own fields, and the value of each kind in the text.
func (s *Step) readNode(d *decoder, node *yaml.Node, field string) {
	if node.Kind != yaml.MappingNode {
		d.wrong(node, field, "a mapping of fields")
		return
	}
	s.Line, s.File = node.Line, d.file
	own := fieldsOf(reflect.TypeFor[Step]())
	known := slices.Sorted(slices.Values(append(stepKindNames(d.options.Steps), "background", "name", "say")))
	values := map[string]any{}
	d.fields(node, field, known, func(name string, value *yaml.Node) {
		if index, ok := own[name]; ok {
			d.decode(value, join(field, name), reflect.ValueOf(s).Elem().FieldByIndex(index))
			return
		}
		// A null value counts as no value.
		into := reflect.New(reflect.TypeOf(d.kind(name).New())).Elem()
		if d.decode(value, join(field, name), into); !into.IsNil() {
			values[name] = into.Interface()
		}
	})
	for _, kind := range d.options.Steps {
		if value, written := values[kind.Name()]; written {
			if s.kinds = append(s.kinds, kind.Name()); len(s.kinds) == 1 {
				s.Kind, s.Value = kind, value
			}
		}
	}
}

func (d *decoder) kind(name string) StepKind {
	i := slices.IndexFunc(d.options.Steps, func(k StepKind) bool { return k.Name() == name })
	return d.options.Steps[i]
}

// stepKindNames returns the names of the kinds in alphabetical order.
func stepKindNames(kinds []StepKind) []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name())
	}
	slices.Sort(names)
	return names
}

// Title returns the step's name, or the title that its kind gives it.
func (s *Step) Title() string {
	switch {
	case s.Name != "":
		return s.Name
	case s.Kind == nil:
		return "nothing"
	case s.Background:
		return s.Kind.Title(s.Value) + " (in the background)"
	}
	return s.Kind.Title(s.Value)
}

// Titles returns the titles of steps.
func Titles(steps []Step) []string {
	titles := make([]string, len(steps))
	for i := range steps {
		titles[i] = steps[i].Title()
	}
	return titles
}

// Walk calls do for each step and for the steps within it, in the order of the text.
func Walk(steps []Step, do func(*Step)) {
	for i := range steps {
		do(&steps[i])
		for _, within := range steps[i].within() {
			Walk(within, do)
		}
	}
}

func (s *Step) within() [][]Step {
	if s.Kind == nil {
		return nil
	}
	return s.Kind.Steps(s.Value)
}

// LeastTime returns the least time, on the cluster's clock, that steps take one after the other.
func LeastTime(steps []Step) time.Duration {
	var total time.Duration
	for i := range steps {
		if s := &steps[i]; s.Kind != nil && !s.Background {
			total += s.Kind.Least(s.Value)
		}
	}
	return total
}

// FirstLine returns the first line of a text, with dots in place of the others.
func FirstLine(text string) string {
	line, more, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if more != "" {
		line += " ..."
	}
	return line
}
