package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios/fault"
	"minikcm.dev/minikcm/scenarios/internal/fields"
)

// Possible returns what cannot be done where the scenario is to run, before anything is
// started. The error is a spec.Problems.
func Possible(s *Scenario, place Place) error {
	var problems spec.Problems
	defined := definitionsOf(s)
	walk(s, func(step *spec.Step) {
		problems = append(problems, companionProblems(step, place)...)
		if p, ok := step.Value.(*Printed); ok {
			if err := p.possible(s); err != nil {
				problems = append(problems, spec.Problem{File: step.File, Line: step.Line, Field: "printed.by", Message: err.Error()})
			}
		}
		if place == OwnCluster {
			problems = append(problems, fieldProblems(step, defined)...)
			return
		}
		k := kindOf(step)
		if field, err := k.possible(step.Value, place); err != nil {
			if field != "" {
				field = "." + field
			}
			problems = append(problems, spec.Problem{File: step.File, Line: step.Line, Field: k.name + field, Message: err.Error()})
		}
	})
	if len(problems) == 0 {
		return nil
	}
	return problems
}

// PossibleOn returns what cannot be done on a running cluster of this process: what Possible
// returns, and what the scenario needs of its cluster that this one does not have. The error is a
// spec.Problems.
func PossibleOn(s *Scenario, cluster *minikcm.Cluster) error {
	var problems spec.Problems
	if err := Possible(s, RunningCluster); err != nil && !errors.As(err, &problems) {
		return err
	}
	for _, need := range needsOf(&s.Spec.Cluster, len(cluster.Kubelets().Nodes())) {
		problems = append(problems, spec.Problem{File: s.File, Field: "spec.cluster." + need.field, Message: need.why})
	}
	problems = append(problems, programs(s, errNoPrograms)...)
	walk(s, func(step *spec.Step) {
		k := kindOf(step)
		for _, f := range k.faults(step.Value) {
			if err := f.Possible(&fault.Env{Cluster: cluster}); err != nil {
				problems = append(problems, spec.Problem{File: step.File, Line: step.Line, Field: k.name, Message: err.Error()})
			}
		}
	})
	if len(problems) == 0 {
		return nil
	}
	return problems
}

// programs returns the steps that run other programs, with why they must not.
func programs(s *Scenario, why error) (problems spec.Problems) {
	walk(s, func(step *spec.Step) {
		if k := kindOf(step); k.program {
			problems = append(problems, spec.Problem{File: step.File, Line: step.Line, Field: k.name, Message: why.Error()})
		}
	})
	return problems
}

// withoutPrograms returns a spec.Problems if steps run other programs.
func withoutPrograms(s *Scenario, why error) error {
	if problems := programs(s, why); len(problems) > 0 {
		return problems
	}
	return nil
}

// need is a field of a scenario's cluster that a running cluster does not satisfy.
type need struct{ field, why string }

// needsOf returns what a scenario's cluster has that a running one with so many nodes lacks. The
// clock, the seed and the delays of pods do not count: any cluster has some.
func needsOf(c *spec.Cluster, nodes int) (needs []need) {
	if c.Nodes != nil && *c.Nodes > nodes {
		needs = append(needs, need{"nodes", fmt.Sprintf("it needs %d nodes, and this cluster has %d", *c.Nodes, nodes)})
	}
	if c.Start != "" {
		needs = append(needs, need{"start", "its time begins at " + c.Start + ", which only a cluster of its own can do"})
	}
	for field, set := range map[string]bool{
		"pools": len(c.Pools) > 0, "noScheduler": c.NoScheduler, "controllers": len(c.Controllers) > 0, "snapshot": c.Snapshot != "",
		"objects": len(c.Objects) > 0, "stages": len(c.Stages) > 0, "serviceRanges": len(c.ServiceRanges) > 0, "cloudProvider": c.CloudProvider != "", "clusterCIDR": c.ClusterCIDR != "",
		"ignoreSimulatedWebhooks": c.IgnoreSimulatedWebhooks, "manageAllNodes": c.ManageAllNodes != nil && !*c.ManageAllNodes,
	} {
		if set {
			needs = append(needs, need{field, "it describes a cluster of the scenario's own"})
		}
	}
	slices.SortFunc(needs, func(a, b need) int { return cmp.Compare(a.field, b.field) })
	return needs
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
func companionProblems(step *spec.Step, place Place) (problems []spec.Problem) {
	for _, o := range kindOf(step).objects(step.Value) {
		if err := companionProblem(&o.Unstructured, place); err != nil {
			problems = append(problems, spec.Problem{File: step.File, Line: step.Line, Message: o.Title() + ": " + err.Error()})
		}
	}
	return problems
}

// fieldProblems returns the fields of a step's objects that the schemas of their kinds do
// not have.
func fieldProblems(step *spec.Step, defined fields.Definitions) (problems []spec.Problem) {
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
			problems = append(problems, spec.Problem{File: cmp.Or(o.File, step.File), Line: o.LineAt(p.Path), Field: field, Message: message})
		}
	}
	return problems
}
