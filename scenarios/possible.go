package scenarios

import (
	"cmp"
	"slices"

	"minikcm.dev/minikcm/scenarios/chaosmesh"
	"minikcm.dev/minikcm/scenarios/fault"
	"minikcm.dev/minikcm/scenarios/fields"
	"minikcm.dev/minikcm/scenarios/format"
)

// Possible tells, before anything is started, what cannot be done where the scenario is
// to run. What is wrong is a format.Problems.
func Possible(s *Scenario, place Place) error {
	var problems format.Problems
	defined := definitionsOf(s)
	add := func(step *format.Step, line int, field, message string) {
		problems = append(problems, format.Problem{File: step.File, Line: line, Field: field, Message: message})
	}
	look := func(step *format.Step) bool {
		switch {
		case place == OwnCluster:
			for _, o := range objectsOf(step) {
				if err := chaosmesh.Check(&o.Unstructured); err != nil {
					add(step, step.Line, "", o.Title()+": "+err.Error())
				}
			}
			problems = append(problems, fieldProblems(step, defined)...)
		case step.Fault != nil && place == ForeignCluster:
			if err := step.Fault.Possible(&fault.Env{}); err != nil {
				add(step, step.Line, "fault", err.Error())
			}
		case step.Kill != nil && step.Kill.Node != "" && place == ForeignCluster:
			add(step, step.Line, "kill.node", errNoMachines.Error())
		case step.Reconcile != nil:
			add(step, step.Line, "reconcile", errNoReconcilers.Error())
		}
		return false
	}
	anyStep(s.Spec.Steps, look)
	anyStep(s.Spec.Finally, look)
	if len(problems) == 0 {
		return nil
	}
	return problems
}

// definitionsOf returns the custom kinds that a scenario defines itself.
func definitionsOf(s *Scenario) fields.Definitions {
	defined := fields.Definitions{}
	add := func(step *format.Step) bool {
		for _, o := range objectsOf(step) {
			defined.Add(&o.Unstructured)
		}
		return false
	}
	anyStep(s.Spec.Steps, add)
	anyStep(s.Spec.Finally, add)
	return defined
}

// fieldProblems returns what the API's schemas do not know in the objects of a step. An
// object that the server is expected to refuse has no problems, and a dump may be of another
// version of Kubernetes.
func fieldProblems(step *format.Step, defined fields.Definitions) (problems []format.Problem) {
	objects := objectsOf(step)
	switch {
	case step.Apply != nil && (step.Apply.Fails != "" || isDump(step.Apply)), step.Create != nil && step.Create.Fails != "":
		return nil
	case step.Expect != nil:
		objects = slices.Concat(step.Expect.Objects, step.Expect.Absent)
	}
	for i := range objects {
		o := &objects[i]
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

// objectsOf are the objects that a step applies or creates.
func objectsOf(step *format.Step) []format.Object {
	switch {
	case step.Apply != nil:
		return step.Apply.All()
	case step.Create != nil:
		return step.Create.All()
	}
	return nil
}
