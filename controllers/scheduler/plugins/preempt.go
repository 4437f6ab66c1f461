package plugins

import (
	"cmp"
	"math"
	"slices"
	"time"

	"minikcm.dev/minikcm/controllers/scheduler/framework"
)

// The messages of preemption about a pod or a node, in kube-scheduler's words.
const (
	messageNever       = "not eligible due to preemptionPolicy=Never."
	messageTerminating = "not eligible due to a terminating pod on the nominated node."
	reasonNoVictims    = "No preemption victims found for incoming pod"
	reasonNotHelpful   = "Preemption is not helpful for scheduling"
)

// Of the nodes that could be freed, minCandidatesPercentage are tried, at least minCandidates.
const (
	minCandidates           = 100
	minCandidatesPercentage = 10
)

// Preemption is the set of pods to delete for a pod that fits on no node.
type Preemption struct {
	// Node is the node to free; "": none can be freed.
	Node string
	// Victims are the pods to delete from it, the most important first.
	Victims []*framework.PodInfo
	// Message is why there is no node; "" if there is one.
	Message string
	// Wait is set if victims of an earlier preemption are still terminating on the pod's
	// nominated node (Input.Prefer).
	Wait bool
}

// Preempt finds the node on which the pod fits after the deletion of pods of lower priority,
// with the least important victims by kube-scheduler's order. d is the diagnosis of the
// Decide that found no node. It does not consider PodDisruptionBudgets.
func Preempt(in Input, d *Diagnosis) Preemption {
	if !in.Pod.MayPreempt() {
		return Preemption{Message: messageNever}
	}
	in.rules = in.newRules()
	if in.isBeingFreed(d) {
		return Preemption{Message: messageTerminating, Wait: true}
	}
	why := &Diagnosis{Nodes: d.Nodes, absent: &rejection{reasons: []string{reasonNotHelpful}}}
	var indexes []int
	for i := range d.Nodes {
		if r := d.at(i); d.Conflict == "" && r != nil && !r.final {
			indexes = append(indexes, i)
		}
	}
	candidates := in.candidates(indexes, why)
	if len(candidates) == 0 {
		return Preemption{Message: why.Message()}
	}
	return cheapest(candidates)
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
	return slices.ContainsFunc(in.Snapshot.Nodes()[index].Pods, func(o *framework.PodInfo) bool {
		return o.Priority < in.Pod.Priority && framework.IsPreemptionVictim(o.Pod)
	})
}

// candidates tries nodes, beginning with a random one, until it has found enough. It records
// in why the reasons against the others.
func (in *Input) candidates(indexes []int, why *Diagnosis) []Preemption {
	if len(indexes) == 0 {
		return nil
	}
	want := min(max(len(indexes)*minCandidatesPercentage/100, minCandidates), len(indexes))
	offset := in.Pick(len(indexes))
	var found []Preemption
	for i := range indexes {
		index := indexes[(offset+i)%len(indexes)]
		n := in.Snapshot.Nodes()[index]
		victims, r := in.victims(n, index)
		if r != nil {
			why.reject(index, r)
			continue
		}
		found = append(found, Preemption{Node: n.Name(), Victims: victims})
		if len(found) == want {
			break
		}
	}
	return found
}

// victims returns the pods to delete from the node at the index: it starts with all pods of
// lower priority, and spares each, the most important first, that leaves the pod enough room.
func (in *Input) victims(n *framework.NodeInfo, index int) ([]*framework.PodInfo, *rejection) {
	var lower []*framework.PodInfo
	var s shift
	freed := n.Filter(func(o *framework.PodInfo) bool {
		if o.Priority >= in.Pod.Priority {
			return true
		}
		lower = append(lower, o)
		s = in.rules.shifted(s, index, o, -1)
		return false
	})
	if len(lower) == 0 {
		return nil, &rejection{reasons: []string{reasonNoVictims}, final: true}
	}
	if r := in.filterAs(freed, index, s); r != nil {
		return nil, r
	}
	slices.SortStableFunc(lower, moreImportant)
	var victims []*framework.PodInfo
	for _, o := range lower {
		spared, back := freed.Append(o), in.rules.shifted(s, index, o, 1)
		if in.filterAs(spared, index, back) == nil {
			freed, s = spared, back
			continue
		}
		victims = append(victims, o)
	}
	if len(victims) == 0 {
		return nil, &rejection{reasons: []string{reasonNoVictims}, final: true}
	}
	return victims, nil
}

// moreImportant orders by priority, then by how long a pod has run.
func moreImportant(a, b *framework.PodInfo) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), startOf(a).Compare(startOf(b)))
}

// startOf returns the pod's start time; a pod that has not started counts as the newest.
func startOf(p *framework.PodInfo) time.Time {
	if p.Pod.Status.StartTime == nil {
		return time.Unix(math.MaxInt32, 0)
	}
	return p.Pod.Status.StartTime.Time
}

// cheapest returns the candidate whose most important victim is the least
// important; of those the one with the smallest sum of priorities, then with the
// fewest victims, then whose most important victims started last; then the first.
func cheapest(candidates []Preemption) Preemption {
	return slices.MinFunc(candidates, func(a, b Preemption) int {
		return cmp.Or(
			cmp.Compare(a.Victims[0].Priority, b.Victims[0].Priority),
			cmp.Compare(prioritySum(a.Victims), prioritySum(b.Victims)),
			cmp.Compare(len(a.Victims), len(b.Victims)),
			startOf(b.Victims[0]).Compare(startOf(a.Victims[0])),
		)
	})
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
