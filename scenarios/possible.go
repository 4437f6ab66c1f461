package scenarios

import (
	"minikcm.dev/minikcm/scenarios/chaosmesh"
	"minikcm.dev/minikcm/scenarios/fault"
	"minikcm.dev/minikcm/scenarios/format"
)

// Possible tells, before anything is started, what cannot be done where the scenario is
// to run. What is wrong is a format.Problems.
func Possible(s *Scenario, place Place) error {
	var problems format.Problems
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
