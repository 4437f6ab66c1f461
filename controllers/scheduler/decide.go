package scheduler

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
	// Pick chooses among n equals, n > 0.
	Pick func(n int) int
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
	if in.Prefer != "" {
		if n := in.Snapshot.Get(in.Prefer); n != nil && in.filter(n) == nil {
			return Decision{Node: in.Prefer, Next: in.Start}
		}
	}
	if in.Pod.names != nil {
		return in.decideNamed(d)
	}
	want := feasibleToFind(total)
	feasible := make([]*NodeInfo, 0, want)
	looked := 0
	for ; looked < total && len(feasible) < want; looked++ {
		i := (in.Start + looked) % total
		n := in.Snapshot.nodes[i]
		if r := in.filter(n); r != nil {
			d.reject(i, r)
			continue
		}
		feasible = append(feasible, n)
	}
	next := (in.Start + looked) % total
	if len(feasible) == 0 {
		return Decision{Next: next, Diagnosis: d}
	}
	return Decision{Node: in.best(feasible), Next: next}
}

// decideNamed looks only at the nodes that the pod's affinity names.
func (in Input) decideNamed(d *Diagnosis) Decision {
	if len(in.Pod.names) == 0 {
		d.Conflict = reasonNamesConflict
		return Decision{Next: in.Start, Diagnosis: d}
	}
	var feasible []*NodeInfo
	d.absent = fixed.notNamed
	for _, name := range in.Pod.names {
		i, ok := in.Snapshot.byName[name]
		if !ok {
			continue
		}
		n := in.Snapshot.nodes[i]
		if r := in.filter(n); r != nil {
			d.reject(i, r)
			continue
		}
		feasible = append(feasible, n)
	}
	if len(feasible) == 0 {
		return Decision{Next: in.Start, Diagnosis: d}
	}
	return Decision{Node: in.best(feasible), Next: in.Start}
}

// filter adds the pods that are nominated to the node and not outranked by this
// one, so that nobody takes the room that was made for them. No filter of ours
// lets a pod in because another is there; else it would have to pass without
// them too.
func (in Input) filter(n *NodeInfo) *rejection {
	for _, other := range in.Nominated[n.Name()] {
		if other.Priority >= in.Pod.Priority && other.Pod.UID != in.Pod.Pod.UID {
			n = n.With(other)
		}
	}
	return filter(in.Pod, n)
}

// best returns one of the nodes with the highest score.
func (in Input) best(feasible []*NodeInfo) string {
	if len(feasible) == 1 {
		return feasible[0].Name()
	}
	best, equals := 0, 1
	all := scores(in.Pod, feasible)
	for i := 1; i < len(all); i++ {
		switch {
		case all[i] > all[best]:
			best, equals = i, 1
		case all[i] == all[best]:
			equals++
		}
	}
	if equals == 1 {
		return feasible[best].Name()
	}
	picked := in.Pick(equals)
	for i := best; ; i++ {
		if all[i] != all[best] {
			continue
		}
		if picked == 0 {
			return feasible[i].Name()
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
