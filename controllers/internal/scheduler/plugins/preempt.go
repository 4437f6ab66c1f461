package plugins

import (
	"cmp"
	"math"
	"slices"
	"time"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// The messages of preemption about a pod or a node, in kube-scheduler's words.
const (
	messageNever       = "not eligible due to preemptionPolicy=Never."
	messageFound       = "found a potential placement for pod on node %v, preempting %d victims"
	messageTerminating = "not eligible due to a terminating pod on the nominated node."
	reasonNoVictims    = "No preemption victims found for incoming pod"
	reasonNotHelpful   = "Preemption is not helpful for scheduling"
)

// By default, minCandidatesPercentage of the nodes that could be freed are tried, at least
// minCandidates.
const (
	minCandidates           = 100
	minCandidatesPercentage = 10
)

// Preemption is the set of pods to delete for a pod that fits on no node.
type Preemption struct {
	// Node is the node to free; "": none can be freed.
	Node string
	// Victims are the pods to delete from it, the most important first. Those of a PodGroup that is disrupted as a whole
	// may be on other nodes.
	Victims []*framework.PodInfo
	// Message is why there is no node; "" if there is one.
	Message string
	// Violations is the number of victims whose deletion violates a PodDisruptionBudget.
	Violations int
	// Wait is set if victims of an earlier preemption are still terminating on the pod's
	// nominated node (Input.Prefer).
	Wait bool
}

// Preempt finds the node on which the pod fits after the deletion of pods of lower priority,
// with the least important victims by kube-scheduler's order: budgets are violated only if there
// is no other way. d is the diagnosis of the Decide that found no node.
func Preempt(in Input, d *Diagnosis) Preemption {
	candidates, none := Candidates(in, d)
	if len(candidates) == 0 {
		return none
	}
	return Cheapest(candidates)
}

// Candidates is Preempt without its choice: it returns the nodes that could be freed, or why there are
// none.
func Candidates(in Input, d *Diagnosis) (all []Preemption, none Preemption) {
	in.prepare()
	if !in.Pod.MayPreempt() {
		return nil, Preemption{Message: messageNever}
	}
	in.rules, in.units = in.newRules(), &units{snapshot: in.Snapshot, groups: in.Groups}
	if in.isBeingFreed(d) {
		return nil, Preemption{Message: messageTerminating, Wait: true}
	}
	why := &Diagnosis{Nodes: d.Nodes, absent: fixed.notHelpful}
	var indexes []int
	for i := range d.Nodes {
		if r := d.at(i); d.Conflict == "" && r != nil && !r.final {
			indexes = append(indexes, i)
		}
	}
	if in.Budgets != nil && len(indexes) > 0 {
		in.budgets = newBudgets(in.Budgets())
	}
	candidates := in.candidates(indexes, why)
	if in.Trace != nil {
		in.Trace.Candidates = candidates
	}
	if len(candidates) == 0 {
		return nil, Preemption{Message: why.Message()}
	}
	return candidates, Preemption{}
}

// isBeingFreed reports whether victims of an earlier preemption are still terminating on the
// pod's nominated node.
func (in *Input) isBeingFreed(d *Diagnosis) bool {
	index, ok := in.Snapshot.Index(in.Prefer)
	if !ok {
		return false
	}
	if r := d.at(index); r != nil && r.final {
		return false
	}
	return in.units.terminatingOn(index, in.Pod.Priority)
}

// candidates tries nodes, beginning with a random one, until it has found enough and one of them
// violates no budget. It records in why the reasons against the others. Those that violate no
// budget come first.
func (in *Input) candidates(indexes []int, why *Diagnosis) []Preemption {
	if len(indexes) == 0 {
		return nil
	}
	want := min(max(len(indexes)*in.profile.minCandidatesPercentage/100, in.profile.minCandidates), len(indexes))
	offset := in.Pick(len(indexes))
	var found, violating []Preemption
	for i := range indexes {
		index := indexes[(offset+i)%len(indexes)]
		n := in.Snapshot.Nodes()[index]
		victims, violations, r := in.victims(n, index)
		switch {
		case r != nil:
			why.reject(index, r)
			continue
		case violations > 0:
			violating = append(violating, Preemption{Node: n.Name(), Victims: victims, Violations: violations})
		default:
			found = append(found, Preemption{Node: n.Name(), Victims: victims})
		}
		if len(found) > 0 && len(found)+len(violating) >= want {
			break
		}
	}
	return append(found, violating...)
}

// victims returns the pods to delete so that the pod fits on the node at the index, and how many of them violate a
// budget. It starts without all units of lower priority that have a pod there, and spares each that leaves the pod enough room.
func (in *Input) victims(n *framework.NodeInfo, index int) (victims []*framework.PodInfo, violations int, why *rejection) {
	lower := in.units.below(in.Pod.Priority, index)
	switch {
	case len(lower) == 0:
		return nil, 0, fixed.noVictims
	case spread(lower, index):
		return in.victimsAcross(index, lower)
	}
	var s shift
	freed := n.Filter(func(o *framework.PodInfo) bool {
		if in.units.priorityOf(o) >= in.Pod.Priority {
			return true
		}
		s = in.rules.shifted(s, index, o, -1)
		return false
	})
	if r := in.filterAs(freed, index, s); r != nil {
		return nil, 0, r
	}
	return chosen(spare(lower, in.budgets, func(u *unit) bool {
		spared, back := freed, s
		for _, p := range u.pods {
			spared, back = spared.Append(p.pod), in.rules.shifted(back, index, p.pod, 1)
		}
		if in.filterAs(spared, index, back) != nil {
			return false
		}
		freed, s = spared, back
		return true
	}))
}

// victimsAcross is victims where units have pods on other nodes, too. These may count for the rules of any node, so
// the rules are counted again for each step.
func (in *Input) victimsAcross(index int, lower []unit) (victims []*framework.PodInfo, violations int, why *rejection) {
	w := in.Snapshot.WhatIf()
	defer func() {
		w.Undo()
		in.recount()
	}()
	for i := range lower {
		lower[i].remove(w)
	}
	in.recount()
	if r := in.filter(index); r != nil {
		return nil, 0, r
	}
	return chosen(spare(lower, in.budgets, func(u *unit) bool {
		u.putBack(w)
		in.recount()
		if in.filter(index) == nil {
			return true
		}
		u.remove(w)
		in.recount()
		return false
	}))
}

// recount updates the counts from the snapshot.
func (in *Input) recount() {
	in.prepare()
	in.rules = in.newRules()
}

// chosen returns the pods of the units that victims has found.
func chosen(found []unit, violating int) (victims []*framework.PodInfo, violations int, why *rejection) {
	if len(found) == 0 {
		return nil, 0, fixed.noVictims
	}
	return podsOf(found), violating, nil
}

// startOf returns the pod's start time; a pod that has not started counts as the newest.
func startOf(p *framework.PodInfo) time.Time {
	if p.Pod.Status.StartTime == nil {
		return time.Unix(math.MaxInt32, 0)
	}
	return p.Pod.Status.StartTime.Time
}

// criteria are the rules by which the node to free is chosen, the first one first: the candidate that
// compares as the lowest wins.
var criteria = []struct {
	name    string
	compare func(a, b *Preemption) int
}{
	{"the fewest violations of PodDisruptionBudgets", func(a, b *Preemption) int { return cmp.Compare(a.Violations, b.Violations) }},
	{"the lowest priority of the most important victim", func(a, b *Preemption) int { return cmp.Compare(a.Victims[0].Priority, b.Victims[0].Priority) }},
	{"the lowest sum of priorities", func(a, b *Preemption) int { return cmp.Compare(prioritySum(a.Victims), prioritySum(b.Victims)) }},
	{"the fewest victims", func(a, b *Preemption) int { return cmp.Compare(len(a.Victims), len(b.Victims)) }},
	{"the latest start of the most important victim", func(a, b *Preemption) int { return startOf(b.Victims[0]).Compare(startOf(a.Victims[0])) }},
}

// Cheapest returns the first of the candidates that no other one is better than.
func Cheapest(candidates []Preemption) Preemption {
	return slices.MinFunc(candidates, func(a, b Preemption) int {
		for _, c := range criteria {
			if order := c.compare(&a, &b); order != 0 {
				return order
			}
		}
		return 0
	})
}

// Because returns the rule that excluded the last of the other candidates.
func (p *Preemption) Because(candidates []Preemption) string {
	left := len(candidates)
	if left <= 1 {
		return "the only candidate"
	}
	rest := slices.Clone(candidates)
	why := "the order of equal candidates"
	for _, c := range criteria {
		rest = slices.DeleteFunc(rest, func(o Preemption) bool { return c.compare(p, &o) < 0 })
		if len(rest) < left {
			left, why = len(rest), c.name
		}
		if left <= 1 {
			return why
		}
	}
	return "the order of equal candidates"
}

// prioritySum shifts the priorities so that all are positive: more victims always have a
// higher sum.
func prioritySum(victims []*framework.PodInfo) int64 {
	var sum int64
	for _, v := range victims {
		sum += int64(v.Priority) + math.MaxInt32 + 1
	}
	return sum
}
