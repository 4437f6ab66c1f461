package plugins

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// Input is everything that a decision depends on.
type Input struct {
	Pod      *framework.PodInfo
	Snapshot *framework.Snapshot
	// Profile determines the plugins; nil: kube-scheduler's default profile.
	Profile *Profile
	// Start is the index of the node in the snapshot that is tried first.
	Start int
	// Nominated are the pods for which nodes are being freed, by node.
	Nominated map[string][]*framework.PodInfo
	// Prefer is the node that is being freed for this pod; "": none.
	Prefer string
	// Siblings are the pods that the default constraints spread this pod from; nil: none.
	Siblings *framework.PodSet
	// Namespaces returns the labels of all namespaces; nil: there are none. It is called at
	// most once, and only if an affinity term with a namespace selector is evaluated.
	Namespaces func() map[string]labels.Set
	// Volumes describes the pod's claims; nil: it has none.
	Volumes *Volumes
	// Devices describes the pod's resource claims and extended resources; nil: it has none.
	Devices *Devices
	// Budgets returns the PodDisruptionBudgets of all namespaces; nil: there are none. Only Preempt
	// calls it, at most once.
	Budgets func() []*policyv1.PodDisruptionBudget
	// Groups are the PodGroups of pods; nil: they are ignored.
	Groups framework.Groups
	// Trace records how each plugin filtered and scored; nil: nothing is recorded.
	Trace *Trace
	// Pick breaks a tie: it returns a number from 0 to n-1, n > 0.
	Pick func(n int) int

	profile   *Profile
	filters   []*nodeFilter
	filtersOf [12]*nodeFilter    // filters, without an allocation
	fit       framework.Resource // what NodeResourcesFit compares
	backed    Backed             // by devices
	// countDevices counts devices of a class; nil: they are not counted.
	countDevices func(node *corev1.Node, class string) (all, allocated int64)
	scratch      []int64 // see zeros
	defaults     []framework.SpreadConstraint
	// exclusive are the pod's claims that a single pod may use, exclusiveUsers how often pods do.
	exclusive      []types.NamespacedName
	exclusiveUsers int32
	rules          *rules
	budgets        budgets
	units          *units
	namespaces     map[string]labels.Set
}

// Decision is a node, or the reasons against each node.
type Decision struct {
	// Node is the chosen node; "" if there is none.
	Node string
	// Next is the Start of the next decision.
	Next int
	// Diagnosis has the reasons why there is no node; nil if there is one.
	Diagnosis *Diagnosis
	// Err is why there is no decision: something is wrong with the pod's resource claims.
	Err error
}

// Decide finds the best node for a pod. In large clusters it scores only as many feasible
// nodes as kube-scheduler does with the profile's percentageOfNodesToScore.
func Decide(in Input) Decision {
	s := Search{in: in}
	s.find()
	return s.Decide(nil)
}

// find finds the feasible nodes.
func (s *Search) find() {
	in := &s.in
	in.prepare()
	total := in.Snapshot.Len()
	s.diagnosis = &Diagnosis{Nodes: total}
	if total == 0 {
		return
	}
	s.next = in.Start
	if in.Pod.NodeNames == nil || len(in.Pod.NodeNames) > 0 { // or the names are the conflict
		if s.conflicts() {
			return
		}
	}
	in.rules = in.newRules()
	if index, ok := in.Snapshot.Index(in.Prefer); ok {
		r := in.filter(index)
		if r == nil {
			in.Trace.tried(in, index, nil)
			s.feasible, s.preferred = []int{index}, true
			return
		}
		s.diagnosis.reject(index, r) // it stays if the pod's node affinity names other nodes
	}
	if in.Pod.NodeNames != nil {
		s.findNamed()
		return
	}
	want := feasibleToFind(total, in.profile.percentage)
	s.feasible = make([]int, 0, want)
	s.possible = in.possible()
	for ; s.looked < total && len(s.feasible) < want; s.looked++ {
		if index := (in.Start + s.looked) % total; s.possible == nil || s.possible.Has(index) {
			s.try(index)
		}
	}
	s.next = (in.Start + s.looked) % total
}

// conflicts reports whether the pod's claims fit on no node, whatever the node.
func (s *Search) conflicts() bool {
	in, d := &s.in, s.diagnosis
	if in.Volumes != nil {
		d.Conflict = in.Volumes.conflict(in.Pod.Pod, in.profile)
	}
	if d.Conflict != "" {
		d.ByVolumes = true
		return true
	}
	d.Conflict = in.Devices.conflict()
	d.conflictOfDevices = d.Conflict != ""
	return d.conflictOfDevices
}

// findNamed tries only the nodes that the pod's node affinity names.
func (s *Search) findNamed() {
	if len(s.in.Pod.NodeNames) == 0 {
		s.diagnosis.Conflict = reasonNamesConflict
		return
	}
	s.diagnosis.absent = s.diagnosis.notNamed()
	for _, name := range s.in.Pod.NodeNames {
		if index, ok := s.in.Snapshot.Index(name); ok {
			s.try(index)
		}
	}
}

// try filters the node at the index.
func (s *Search) try(index int) {
	r := s.in.filter(index)
	if s.in.Trace != nil {
		s.in.Trace.tried(&s.in, index, r)
	}
	if r != nil {
		s.diagnosis.reject(index, r)
		return
	}
	s.feasible = append(s.feasible, index)
}

// filter returns the reason against the node at the index; nil: it is feasible.
func (in *Input) filter(index int) *rejection {
	return in.filterAs(in.Snapshot.Nodes()[index], index, nil)
}

// filterAs is filter for the node at the index in the hypothetical state n, with the counts
// of the rules shifted accordingly. Pods of equal or higher priority that are nominated to
// the node count as if they were on it, so that the pod does not take the room that was made
// for them. Since they may still go elsewhere, the rules must hold without them as well.
func (in *Input) filterAs(n *framework.NodeInfo, index int, s shift) *rejection {
	with, shifted, added := n, s, false
	if len(in.Nominated) > 0 { // otherwise the name, in other memory than n, is not needed
		for _, other := range in.Nominated[n.Name()] {
			if other.Priority >= in.Pod.Priority && other.Pod.UID != in.Pod.Pod.UID {
				with = with.With(other)
				shifted = in.rules.shifted(shifted, index, other, 1)
				added = true
			}
		}
	}
	if r := in.filterNode(with); r != nil {
		return r
	}
	if in.Volumes != nil {
		if r := in.Volumes.filter(n.Node, index, in.profile); r != nil {
			return r
		}
	}
	if r := in.rules.filter(index, shifted); r != nil {
		return r
	}
	if r := in.Devices.filter(n); r != nil {
		return r
	}
	if r := in.filterFeatures(n); r != nil || !added {
		return r
	}
	return in.rules.filter(index, s)
}

// best returns one of the nodes with the highest score. extra are added to the scores; nil: nothing is.
func (in *Input) best(feasible []int, extra []int64) string {
	name := func(i int) string { return in.Snapshot.Nodes()[feasible[i]].Name() }
	if len(feasible) == 1 {
		return name(0)
	}
	best, equals := 0, 1
	all := in.scores(feasible)
	for i, more := range extra {
		all[i] += more
	}
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

// With up to minFeasible nodes all are tried. With more, the search ends after a share of
// feasible ones, by default one that shrinks from 50 % to minFeasiblePercentage, but not below
// minFeasible.
const (
	minFeasible           = 100
	minFeasiblePercentage = 5
)

// feasibleToFind returns the number of feasible nodes that ends the search. A percentage of 0 means
// the default.
func feasibleToFind(total, percentage int) int {
	if total < minFeasible {
		return total
	}
	if percentage == 0 {
		percentage = max(50-total/125, minFeasiblePercentage)
	}
	return max(total*percentage/100, minFeasible)
}
