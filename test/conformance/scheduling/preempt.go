package scheduling

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// preempt adds to a decision what the PostFilter plugins say, and the nodes that preemption can free.
func (u *upstream) preempt(ctx context.Context, state fwk.CycleState, d *decision, unfit *framework.FitError) error {
	result, status := u.framework.RunPostFilterPlugins(ctx, state, d.Pod, unfit.Diagnosis.NodeToStatus)
	unfit.Diagnosis.PostFilterMsg = status.Message()
	d.Message = unfit.Error()
	if result == nil || result.NominatingInfo == nil || result.NominatedNodeName == "" {
		return nil
	}
	d.Message = strings.Replace(d.Message, "on node "+result.NominatedNodeName+",", "on node NODE,", 1)
	nodes, err := unfit.Diagnosis.NodeToStatus.NodesForStatusCode(u.snapshot.NodeInfos(), fwk.Unschedulable)
	if err != nil {
		return err
	}
	budgets, err := u.preempter.Evaluator.PdbLister.List(labels.Everything())
	if err != nil {
		return err
	}
	found, _, err := u.preempter.Evaluator.DryRunPreemption(ctx, state, d.Pod, nodes, budgets, 0, int32(len(nodes)))
	if err != nil {
		return err
	}
	for _, f := range found {
		c := candidate{Node: f.Name(), Violations: f.Victims().NumPDBViolations, Best: u.best(ctx, f, found)}
		for _, victim := range f.Victims().Pods {
			c.Victims = append(c.Victims, victim.Namespace+"/"+victim.Name)
		}
		slices.Sort(c.Victims)
		d.Candidates = append(d.Candidates, c)
	}
	slices.SortFunc(d.Candidates, func(a, b candidate) int { return cmp.Compare(a.Node, b.Node) })
	return nil
}

// tries is the number of times that upstream chooses between two candidates: among equal ones, it
// chooses any.
const tries = 40

// best reports whether upstream prefers no other candidate to one.
func (u *upstream) best(ctx context.Context, c preemption.Candidate, all []preemption.Candidate) bool {
	for _, other := range all {
		chosen := other.Name() == c.Name()
		for i := 0; i < tries && !chosen; i++ {
			chosen = u.preempter.Evaluator.SelectCandidate(ctx, []preemption.Candidate{c, other}).Name() == c.Name()
		}
		if !chosen {
			return false
		}
	}
	return true
}
