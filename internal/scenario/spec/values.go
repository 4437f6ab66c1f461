package spec

import "reflect"

// SyntaxError says that data is no YAML.
type SyntaxError struct{ Problems }

// Unwrap returns the problems.
func (e *SyntaxError) Unwrap() error { return e.Problems }

// Values decodes each document of data into a T, as strictly as a scenario's fields are
// decoded, and calls check with it. Text such as ${NAME} is left as it is: there are no
// variables. Data without documents is a problem, which missing describes. The error is a
// Problems, or a *SyntaxError if data is no YAML.
func Values[T any](file string, data []byte, missing string, check func(c *Checker, value *T)) ([]*T, error) {
	var problems Problems
	d := &decoder{file: file, problems: &problems, literal: true}
	documents := d.documents(data)
	if len(problems) > 0 {
		return nil, &SyntaxError{problems}
	}
	var values []*T
	for _, document := range documents {
		value := new(T)
		own := *d
		own.lines = map[string]int{}
		own.decode(document, "", reflect.ValueOf(value).Elem())
		check(&Checker{d: own.after(), line: document.Line}, value)
		values = append(values, value)
	}
	if len(values) == 0 {
		d.problem(0, "", "%s", missing)
	}
	return values, problems.err()
}
