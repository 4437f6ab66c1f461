package scheduler

import (
	"cmp"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What preemption says of a pod or of a node, in kube-scheduler's words.
const (
	messageNever       = "not eligible due to preemptionPolicy=Never."
	messageTerminating = "not eligible due to a terminating pod on the nominated node."
	reasonNoVictims    = "No preemption victims found for incoming pod"
	reasonNotHelpful   = "Preemption is not helpful for scheduling"
)

// Of many nodes that could be freed, a tenth are tried, at least minCandidates.
const (
	minCandidates           = 100
	minCandidatesPercentage = 10
)

// Preemption is what to delete in favour of a pod that fits nowhere.
type Preemption struct {
	// Node is the one that is being freed; "": none can be.
	Node string
	// Victims are the pods to delete from there, the most important first.
	Victims []*PodInfo
	// Message says why there is no node; "" if there is one.
	Message string
	// Wait is set when the node that was chosen before is still being freed.
	Wait bool
}

// Preempt finds the node on which deleting less important pods lets the pod in
// at the lowest price, by kube-scheduler's order of prices. It is asked after
// Decide found no node. Pod disruption budgets are not looked at.
func Preempt(in Input, d *Diagnosis) Preemption {
	if !in.Pod.mayPreempt() {
		return Preemption{Message: messageNever}
	}
	in.rules = in.newRules()
	if in.isBeingFreed(d) {
		return Preemption{Message: messageTerminating, Wait: true}
	}
	why := &Diagnosis{Nodes: d.Nodes, absent: &rejection{reasons: []string{reasonNotHelpful}}}
	var places []int
	for i := range d.Nodes {
		if r := d.at(i); d.Conflict == "" && r != nil && !r.final {
			places = append(places, i)
		}
	}
	candidates := in.candidates(places, why)
	if len(candidates) == 0 {
		return Preemption{Message: why.Message()}
	}
	return cheapest(candidates)
}

// isBeingFreed reports whether victims of an earlier preemption are still on
// their way out of the pod's nominated node.
func (in *Input) isBeingFreed(d *Diagnosis) bool {
	place, ok := in.Snapshot.byName[in.Prefer]
	if !ok {
		return false
	}
	if r := d.at(place); r != nil && r.final {
		return false
	}
	return slices.ContainsFunc(in.Snapshot.nodes[place].Pods, func(o *PodInfo) bool {
		return o.Priority < in.Pod.Priority && isVictim(o.Pod)
	})
}

// isVictim reports whether the pod terminates because of a preemption.
func isVictim(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonPreemptionByScheduler
	})
}

// candidates tries nodes from a random one on until enough are found, and notes
// why the others cannot be freed.
func (in *Input) candidates(places []int, why *Diagnosis) []Preemption {
	if len(places) == 0 {
		return nil
	}
	want := min(max(len(places)*minCandidatesPercentage/100, minCandidates), len(places))
	offset := in.Pick(len(places))
	var found []Preemption
	for i := range places {
		place := places[(offset+i)%len(places)]
		n := in.Snapshot.nodes[place]
		victims, r := in.victims(n, place)
		if r != nil {
			why.reject(place, r)
			continue
		}
		found = append(found, Preemption{Node: n.Name(), Victims: victims})
		if len(found) == want {
			break
		}
	}
	return found
}

// victims returns the fewest and least important pods without which the pod
// fits on the node at the place.
func (in *Input) victims(n *NodeInfo, place int) ([]*PodInfo, *rejection) {
	var lower []*PodInfo
	var s shift
	freed := n.keeping(func(o *PodInfo) bool {
		if o.Priority >= in.Pod.Priority {
			return true
		}
		lower = append(lower, o)
		s = in.rules.shifted(s, place, o, -1)
		return false
	})
	if len(lower) == 0 {
		return nil, &rejection{reasons: []string{reasonNoVictims}, final: true}
	}
	if r := in.filterAs(freed, place, s); r != nil {
		return nil, r
	}
	slices.SortStableFunc(lower, moreImportant)
	var victims []*PodInfo
	for _, o := range lower {
		spared, back := freed.appended(o), in.rules.shifted(s, place, o, 1)
		if in.filterAs(spared, place, back) == nil {
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
func moreImportant(a, b *PodInfo) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), startOf(a).Compare(startOf(b)))
}

// startOf returns when the pod started; a pod that has not counts as the newest.
func startOf(p *PodInfo) time.Time {
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

// prioritySum shifts priorities so that each victim adds something, one of
// negative priority too.
func prioritySum(victims []*PodInfo) int64 {
	var sum int64
	for _, v := range victims {
		sum += int64(v.Priority) + math.MaxInt32 + 1
	}
	return sum
}
