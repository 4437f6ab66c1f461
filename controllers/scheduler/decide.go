package scheduler

import "k8s.io/apimachinery/pkg/labels"

// Input is all that a decision depends on.
type Input struct {
	Pod      *PodInfo
	Snapshot *Snapshot
	// Start is the place in the snapshot from which nodes are looked at.
	Start int
	// Nominated are the pods for which room is being made, by node.
	Nominated map[string][]*PodInfo
	// Prefer is the node that is being freed for this pod; "": none.
	Prefer string
	// Siblings are the pods that the default constraints spread this one from; nil:
	// none.
	Siblings *PodSet
	// Namespaces returns the labels of all namespaces; nil: there are none. It is
	// asked only if a term with a namespace selector is to be looked at.
	Namespaces func() map[string]labels.Set
	// Pick chooses among n equals, n > 0.
	Pick func(n int) int

	rules      *rules
	namespaces map[string]labels.Set
}

// Decision is a node, or the reasons against each.
type Decision struct {
	// Node is the chosen node; "" if there is none.
	Node string
	// Next is where the next decision is to start.
	Next int
	// Diagnosis says why there is no node; nil if there is one.
	Diagnosis *Diagnosis
}

// Decide finds the best node for a pod. Of very many nodes it scores only as
// many fitting ones as kube-scheduler does at its default percentageOfNodesToScore.
func Decide(in Input) Decision {
	total := in.Snapshot.Len()
	d := &Diagnosis{Nodes: total}
	if total == 0 {
		return Decision{Diagnosis: d}
	}
	in.rules = in.newRules()
	if place, ok := in.Snapshot.byName[in.Prefer]; ok && in.filter(place) == nil {
		return Decision{Node: in.Prefer, Next: in.Start}
	}
	if in.Pod.names != nil {
		return in.decideNamed(d)
	}
	want := feasibleToFind(total)
	feasible := make([]int, 0, want)
	looked := 0
	for ; looked < total && len(feasible) < want; looked++ {
		place := (in.Start + looked) % total
		if r := in.filter(place); r != nil {
			d.reject(place, r)
			continue
		}
		feasible = append(feasible, place)
	}
	next := (in.Start + looked) % total
	if len(feasible) == 0 {
		return Decision{Next: next, Diagnosis: d}
	}
	return Decision{Node: in.best(feasible), Next: next}
}

// decideNamed looks only at the nodes that the pod's affinity names.
func (in *Input) decideNamed(d *Diagnosis) Decision {
	if len(in.Pod.names) == 0 {
		d.Conflict = reasonNamesConflict
		return Decision{Next: in.Start, Diagnosis: d}
	}
	var feasible []int
	d.absent = fixed.notNamed
	for _, name := range in.Pod.names {
		place, ok := in.Snapshot.byName[name]
		if !ok {
			continue
		}
		if r := in.filter(place); r != nil {
			d.reject(place, r)
			continue
		}
		feasible = append(feasible, place)
	}
	if len(feasible) == 0 {
		return Decision{Next: in.Start, Diagnosis: d}
	}
	return Decision{Node: in.best(feasible), Next: in.Start}
}

// filter says what is against the node at the place.
func (in *Input) filter(place int) *rejection {
	return in.filterAs(in.Snapshot.nodes[place], place, nil)
}

// filterAs says what would be against the node at the place, if it were as n is,
// and the rules' counts were shifted accordingly. It adds the pods that are
// nominated to the node and not outranked by this one, so that nobody takes the
// room that was made for them. But the pod must not rest on their coming either:
// what the rules say has to hold without them too.
func (in *Input) filterAs(n *NodeInfo, place int, s shift) *rejection {
	with, shifted, added := n, s, false
	for _, other := range in.Nominated[n.Name()] {
		if other.Priority >= in.Pod.Priority && other.Pod.UID != in.Pod.Pod.UID {
			with = with.With(other)
			shifted = in.rules.shifted(shifted, place, other, 1)
			added = true
		}
	}
	if r := filter(in.Pod, with); r != nil {
		return r
	}
	if r := in.rules.filter(place, shifted); r != nil || !added {
		return r
	}
	return in.rules.filter(place, s)
}

// best returns one of the nodes with the highest score.
func (in *Input) best(feasible []int) string {
	name := func(i int) string { return in.Snapshot.nodes[feasible[i]].Name() }
	if len(feasible) == 1 {
		return name(0)
	}
	best, equals := 0, 1
	all := in.scores(feasible)
	for i := 1; i < len(all); i++ {
		switch {
		case all[i] > all[best]:
			best, equals = i, 1
		case all[i] == all[best]:
			equals++
		}
	}
	if equals == 1 {
		return name(best)
	}
	picked := in.Pick(equals)
	for i := best; ; i++ {
		if all[i] != all[best] {
			continue
		}
		if picked == 0 {
			return name(i)
		}
		picked--
	}
}

// Of fewer nodes than minFeasible all are looked at, and at least so many of
// more; of those, a share that shrinks from half to a twentieth.
const (
	minFeasible           = 100
	minFeasiblePercentage = 5
)

func feasibleToFind(total int) int {
	if total < minFeasible {
		return total
	}
	percentage := max(50-total/125, minFeasiblePercentage)
	return max(total*percentage/100, minFeasible)
}
