package spec

import (
	"maps"
	"os"
	"time"
)

// Checker reports what is wrong with one value of a file: a step's, or a document's. Fields
// are relative to the value; the empty field is the value itself.
type Checker struct {
	// Step is the step whose value is checked; nil if the value is a document's.
	Step *Step

	d     *decoder
	line  int
	field string
	// before is the number of problems when the check of the value began.
	before int
}

// Sound reports whether the value has no problem so far.
func (c *Checker) Sound() bool { return len(*c.d.problems) == c.before }

func (c *Checker) at(field string) string {
	switch {
	case field == "":
		return c.field
	case field[0] == '[':
		return c.field + field
	}
	return join(c.field, field)
}

// Problem reports a problem with a field.
func (c *Checker) Problem(field, format string, args ...any) {
	c.d.problem(c.line, c.at(field), format, args...)
}

// ProblemAt is Problem for a field whose line is known; 0 stands for the value's own line.
func (c *Checker) ProblemAt(line int, field, format string, args ...any) {
	c.d.problem(max(line, c.line), c.at(field), format, args...)
}

// In returns the checker of a value within this one.
func (c *Checker) In(field string) *Checker {
	return &Checker{Step: c.Step, d: c.d, line: c.line, field: c.at(field), before: len(*c.d.problems)}
}

// Check reports err as the problem of a field, unless it is nil.
func (c *Checker) Check(field string, err error) { c.d.check(c.line, c.at(field), err) }

// IsSet reports whether a field is written in the file.
func (c *Checker) IsSet(field string) bool { return c.d.isSet(c.at(field)) }

// Vars returns a copy of the variables that are set where the value is written.
func (c *Checker) Vars() map[string]string {
	if c.d.vars == nil {
		return map[string]string{}
	}
	return maps.Clone(c.d.vars)
}

// Dir is the folder of the file, which relative paths begin at. It is empty for a scenario that is
// not in a file of the machine, such as a shipped one.
func (c *Checker) Dir() string {
	if c.d.options.Files != nil {
		return ""
	}
	return c.d.dir()
}

// Folder returns where a relative path of a folder leads, and reports that field if there is
// no such folder.
func (c *Checker) Folder(field, relative string) string {
	path := c.d.path(relative)
	if c.d.options.Files == nil {
		_, err := os.ReadDir(path)
		c.Check(field, notThere(path, err))
	}
	return path
}

// Steps checks the steps within the value.
func (c *Checker) Steps(field string, steps []Step) { c.d.checkSteps(steps, c.at(field)) }

// Body reads the steps of a body, with these variables added to the set ones, and checks them.
func (c *Checker) Body(field string, body *Body, vars map[string]string) {
	c.d.checkBody(body, vars, c.line, c.at(field))
}

// Include returns the steps of another file, of a document of kind Steps.
func (c *Checker) Include(file string, vars map[string]string) []Step {
	return c.d.include(file, vars, c.line, c.field)
}

// Expect checks an expectation.
func (c *Checker) Expect(field string, e *Expect) { c.d.checkExpect(e, c.at(field)) }

// Given checks what expressions are given, and returns the names.
func (c *Checker) Given(given map[string]Given) []string {
	return c.d.checkGiven(given, c.line, c.field)
}

// CEL checks an expression that is given these names; holds says that it must be true or
// false.
func (c *Checker) CEL(field, expression string, given []string, holds bool) {
	if c.d.options.CEL != nil {
		c.Check(field, c.d.options.CEL(expression, given, holds))
	}
}

// Within reports a limit that the run's timeout never lets come.
func (c *Checker) Within(limit Duration) { c.d.checkWithin(limit, c.line, c.field) }

// Timeout is the run's; 0 while it is not known, as within a file that is included.
func (c *Checker) Timeout() time.Duration {
	if c.d.names == nil {
		return 0
	}
	return c.d.names.timeout
}
