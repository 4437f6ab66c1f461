package format

import (
	"reflect"

	"go.yaml.in/yaml/v3"

	"minikcm.dev/minikcm/scenarios/fault"
)

// SyntaxError says that data is no YAML.
type SyntaxError struct{ Problems }

// Unwrap returns the problems.
func (e *SyntaxError) Unwrap() error { return e.Problems }

// ParseFaults reads faults, each written as the step fault of a scenario is, from the
// documents of data, and checks them. Text such as ${NAME} is left as it is: there are
// no variables. What is wrong is a Problems, or a *SyntaxError if data is no YAML.
func ParseFaults(file string, data []byte) ([]*fault.Fault, error) {
	var problems Problems
	d := &decoder{file: file, problems: &problems, literal: true}
	documents := d.documents(data)
	if len(problems) > 0 {
		return nil, &SyntaxError{problems}
	}
	var faults []*fault.Fault
	for _, document := range documents {
		faults = append(faults, d.faultDocument(document))
	}
	if len(faults) == 0 {
		d.problem(0, "", "there is no fault in it: write one such as {nodes: {action: crash, names: [node-1]}, for: 5m}")
	}
	return faults, problems.err()
}

func (d *decoder) faultDocument(document *yaml.Node) *fault.Fault {
	f := &fault.Fault{}
	own := *d
	own.lines = map[string]int{}
	own.decode(document, "", reflect.ValueOf(f).Elem())
	own = *own.after()
	for _, problem := range f.Validate() {
		own.problem(document.Line, problem.Field, "%s", problem.Message)
	}
	return f
}
