package scenarios

import (
	"cmp"

	"minikcm.dev/minikcm/scenarios/fields"
	"minikcm.dev/minikcm/scenarios/format"
)

// Possible returns what cannot be done where the scenario is to run, before anything is
// started. The error is a format.Problems.
func Possible(s *Scenario, place Place) error {
	var problems format.Problems
	defined := definitionsOf(s)
	walk(s, func(step *format.Step) {
		problems = append(problems, companionProblems(step, place)...)
		if place == OwnCluster {
			problems = append(problems, fieldProblems(step, defined)...)
			return
		}
		k := kindOf(step)
		if field, err := k.possible(step.Value, place); err != nil {
			if field != "" {
				field = "." + field
			}
			problems = append(problems, format.Problem{File: step.File, Line: step.Line, Field: k.name + field, Message: err.Error()})
		}
	})
	if len(problems) == 0 {
		return nil
	}
	return problems
}

// definitionsOf returns the custom kinds that a scenario defines itself.
func definitionsOf(s *Scenario) fields.Definitions {
	defined := fields.Definitions{}
	for _, o := range objectsOf(s) {
		defined.Add(&o.Unstructured)
	}
	return defined
}

// companionProblems returns what the controllers beside the cluster would refuse.
func companionProblems(step *format.Step, place Place) (problems []format.Problem) {
	for _, o := range kindOf(step).objects(step.Value) {
		if err := companionProblem(&o.Unstructured, place); err != nil {
			problems = append(problems, format.Problem{File: step.File, Line: step.Line, Message: o.Title() + ": " + err.Error()})
		}
	}
	return problems
}

// fieldProblems returns the fields of a step's objects that the schemas of their kinds do
// not have.
func fieldProblems(step *format.Step, defined fields.Definitions) (problems []format.Problem) {
	for _, o := range kindOf(step).typed(step.Value) {
		for _, p := range fields.Check(&o.Unstructured, defined) {
			message := p.Message
			if p.Near != "" {
				message += ": did you mean " + p.Near + "?"
			}
			field := o.Title()
			if p.Path != "" {
				field += ": " + p.Path
			}
			problems = append(problems, format.Problem{File: cmp.Or(o.File, step.File), Line: o.LineAt(p.Path), Field: field, Message: message})
		}
	}
	return problems
}
